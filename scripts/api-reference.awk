# Doxygen's input filter (docs/Doxyfile): our comments as Doxygen's, so that sources need none of its marks. Lines keep
# their numbers.
#   // at the top of a header           is about the file
#   // directly above a declaration     becomes ///
#   // behind a member                  becomes ///<
# Comments in functions' bodies stay as they are: they are for who reads the code.

# A comment's text. `<` begins an HTML tag and \ a command for Doxygen, except in backquotes and in code.
function text(s,    i, c, out, quoted) {
  if (sub(/^   /, "     ", s)) return s  # code: ours has three spaces, Markdown's four
  for (i = 1; i <= length(s); ++i) {
    c = substr(s, i, 1)
    if (c == "`") quoted = !quoted
    out = out (!quoted && c ~ /[<>@\\#%]/ ? "\\" c : c)
  }
  return out
}

# Prints the comment lines that wait for what follows them.
function flush(documents,    i) {
  for (i = 1; i <= held; ++i) print documents ? indent[i] "///" text(body[i]) : line[i]
  held = 0
}

# Follows the braces of a line; `inside` is the depth of the outermost body, 0 outside. A brace opens a body if its line
# does not begin a namespace, a class or an enumeration.
function follow(s,    i, c, scope) {
  gsub(/\\["'\\]/, "", s)
  gsub(/"[^"]*"|'[^']'/, "", s)
  sub(/\/\/.*/, "", s)
  scope = s ~ /(^|[ \t>])(namespace|class|struct|union|enum)([ \t{]|$)/ || s ~ /^ +: (public|private|protected) /
  for (i = 1; i <= length(s); ++i) {
    c = substr(s, i, 1)
    if (c == "{") {
      ++depth
      if (!scope && !inside) inside = depth
      scope = 0
    } else if (c == "}") {
      if (inside == depth) inside = 0
      --depth
    }
  }
}

FNR == 1 && /^#pragma once/ {
  print "/// @file"
  top = 1
  next
}
/^[ \t]*\/\// && !/NOLINT|clang-format/ {
  at = match($0, /\/\//)
  words = substr($0, at + 2)
  sub(/^\//, "", words)
  if (top) {
    print "///" text(words)
  } else if (at == behind) {  # goes on below the one behind a member
    print substr($0, 1, at - 1) "///<" text(words)
  } else {
    ++held
    line[held] = $0
    indent[held] = substr($0, 1, at - 1)
    body[held] = words
  }
  next
}
{
  top = behind = 0
  # Not above an empty line, the end of a scope, or a preprocessor's line other than a macro.
  flush(!inside && !/^[ \t]*($|})/ && (!/^#/ || /^#[ \t]*define/))
  outside = !inside
  follow($0)
  if (outside && !inside && match($0, /[;,]  *\/\/ /) && !/NOLINT/) {
    behind = RSTART + RLENGTH - 3
    print substr($0, 1, behind - 1) "///<" text(substr($0, behind + 2))
    next
  }
  print
}
END { flush(0) }
