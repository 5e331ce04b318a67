# From Doxygen's XML: the public names without a docstring, as `file:line: kind name`. Run by scripts/api-reference.sh.
#
# A docstring is asked of each namespace, of each name in one (function, type, alias, concept, constant), of macros, and of
# the public members of classes. Not of
#   operators, constructors, destructors     their class says, or their operation
#   overloads                                one docstring is enough for all of them
#   specializations                          the primary template's says it
#   data members, enumerators                their class has a docstring; what that leaves open is said behind the member
#   members of primitives                    the docstring is a formula in them (include/mtf/backend/primitives)
#   members that every backend has           include/mtf/backend/concept.hpp says what they do
#   overriding functions                     the overridden one's says it
#   operations made of a list                that of the same name in mtf::math says it (mtf/math/functions.hpp)
#   function objects, in mtf::functions      nor: they are called by operations, which say it
#   `checked`                                where a class has its verdict checked: no part of what it means
#   macros for the headers' own use          steps of MTF_FIELDS, what a header undefines again, other libraries' switches
BEGIN {
  split("allocate release to_host from_host objects ranks communicate start request wait " \
    "run enter leave change made holds_data", names, " ")
  for (i in names) backend_has[names[i]] = 1
}

function attribute(key) { return match($0, " " key "=\"[^\"]*\"") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 4) : "" }
function content(    s) {
  s = $0
  gsub(/^ *<[a-z]+>|<\/[a-z]+>$/, "", s)
  gsub(/&lt;/, "<", s)
  gsub(/&gt;/, ">", s)
  return s
}
function last(path) {
  sub(/.*::/, "", path)
  return path
}

# One name: of this kind, in this scope ("" for macros), a class's member or not.
function named(kind, scope, name, member, documented,    id) {
  if (scope ~ /^mtf::functions/) return
  if (name ~ /^operator|^~|</ || scope ~ /</ || kind == "friend") return
  if (member && (kind == "variable" || name == last(scope) || name == "checked")) return
  if (member && (name in backend_has || scope ~ /^mtf::primitives::/)) return
  if (kind == "define" && name ~ /^MTF_(EXPAND[0-9]*|FOR_EACH_(STEP|AGAIN)|PARENS|ACCESSOR|VISIT|FIELD_TYPE)$/) return
  if (kind == "define" && name ~ /^MTF_(COMPARE|DEFINE|SENTENCE|COMPILED.*|SIMD)$|^R123_|_SKIP_MPICXX$/) return
  id = scope (scope == "" ? "" : "::") name
  ++seen
  if (documented) {
    has[id] = 1
  } else if (!(id in where)) {
    where[id] = file ":" line ": " kind " " id
    order[++count] = id
  }
}

/<compounddef / {
  compound = attribute("kind")
  hidden = attribute("prot") ~ /private|protected/
  compound_documented = member = 0
}
/<compoundname>/ { compound_name = content() }
/<memberdef / {
  member = 1
  kind = attribute("kind")
  skip = hidden || attribute("prot") != "public"
  documented = 0
  name = ""
}
member && /^ *<name>/ && name == "" { name = content() }
member && /<reimplements / { skip = 1 }
/<(brief|detailed)description>/ { describes = 1 }
/<\/(brief|detailed)description>/ { describes = 0 }
describes && /<para>/ {
  if (member) documented = 1
  else compound_documented = 1
}
/<location / {
  file = attribute("file")
  line = attribute("line")
}
/<\/memberdef>/ {
  member = 0
  # Of a file only the macros: the rest is its namespaces' too.
  if (!skip && (compound != "file" || kind == "define"))
    named(kind, compound == "file" ? "" : compound_name, name, compound != "file" && compound != "namespace", documented)
}
/<\/compounddef>/ {
  scope = compound_name
  if (!sub(/::[^:]*$/, "", scope)) scope = ""
  if (!hidden && compound ~ /^(class|struct|union|concept|namespace)$/)
    named(compound, scope, last(compound_name), 0, compound_documented)
}

END {
  for (i = 1; i <= count; ++i)
    if (!(order[i] in has) && !(("mtf::math::" last(order[i])) in has)) print where[order[i]]
  if (seen < 500) print "only " seen " names were found: scripts/api-undocumented.awk no longer reads Doxygen's XML"
}
