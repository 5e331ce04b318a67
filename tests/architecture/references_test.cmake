# What documents and comments refer to is there:
#   cmake -D ROOT=. [-D HEADERS=ON] -P references_test.cmake
# Errors are, in documents, headers and sources:
#   docs/x.md                 that does not exist
#   docs/x.md, "Heading"      that x.md does not have
#   design.md, 5              a numbered section: design.md has headings, no numbers
# and in documents besides:
#   [text](path)              a link to no file, or to no heading of it
#   include/mtf/x.hpp         a path from the root that does not exist
cmake_minimum_required(VERSION 3.25)
get_filename_component(ROOT "${ROOT}" ABSOLUTE)

# ==== OFF for now: headers and sources still cite numbered sections. With -D HEADERS=ON that is an error in them too.
# ==== When the last of them is gone, drop this option.
option(HEADERS "Numbered sections are errors in headers and sources too" OFF)

# docs/notes/ quote what once was. Programs' output is in errors.md, with paths shortened.
set(documents "")
set(sources "")
file(GLOB_RECURSE documents RELATIVE "${ROOT}" "${ROOT}/docs/*.md" "${ROOT}/benchmarks/*.md" "${ROOT}/tests/*.md")
list(FILTER documents EXCLUDE REGEX "^docs/notes/")
file(GLOB found RELATIVE "${ROOT}" "${ROOT}/*.md")
list(APPEND documents ${found})
foreach(room IN ITEMS include backends tests examples benchmarks cmake scripts)
  foreach(kind IN ITEMS hpp cpp cmake txt sh py in)
    file(GLOB_RECURSE found RELATIVE "${ROOT}" "${ROOT}/${room}/*.${kind}")
    list(APPEND sources ${found})
  endforeach()
endforeach()
list(REMOVE_ITEM sources tests/architecture/references_test.cmake)  # it says what it looks for
list(APPEND sources CMakeLists.txt)

# A file's text in one line, comment marks at the beginnings of lines away: a reference may be broken. CMake's lists
# would take brackets and semicolons for their own.
function(text_of file out)
  file(READ "${ROOT}/${file}" text)
  string(REGEX REPLACE "[][]" "|" text "${text}")
  string(REPLACE ";" "," text "${text}")
  string(REGEX REPLACE "\n[ \t]*(///?|#|>)?[ \t]*" " " text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Whether a document has a heading; as it is written, or as the anchor that links use.
function(has_heading document heading out)
  set(${out} FALSE PARENT_SCOPE)
  file(STRINGS "${ROOT}/${document}" lines REGEX "^#+ ")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#+ +" "" line "${line}")
    string(TOLOWER "${line}" anchor)
    string(REGEX REPLACE "[^a-z0-9 _-]" "" anchor "${anchor}")
    string(REPLACE " " "-" anchor "${anchor}")
    if(line STREQUAL heading OR anchor STREQUAL heading)
      set(${out} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

set(problems "")
set(count 0)
set(numbered 0)
foreach(file IN LISTS documents sources)
  text_of("${file}" text)
  get_filename_component(folder "${file}" DIRECTORY)
  set(is_document FALSE)
  if(file IN_LIST documents)
    set(is_document TRUE)
  endif()

  string(REGEX MATCHALL "docs/[A-Za-z0-9_/-]+\\.md(, \"[^\"]+\")?" cited "${text}")
  foreach(reference IN LISTS cited)
    math(EXPR count "${count} + 1")
    string(REGEX MATCH "^([^,]+)(, \"([^\"]+)\")?$" all "${reference}")
    set(document "${CMAKE_MATCH_1}")
    set(heading "${CMAKE_MATCH_3}")
    if(NOT EXISTS "${ROOT}/${document}")
      string(APPEND problems "\n  ${file} cites ${document}, which does not exist")
    elseif(heading)
      has_heading("${document}" "${heading}" found)
      if(NOT found)
        string(APPEND problems "\n  ${file} cites \"${heading}\" of ${document}, which has no such heading")
      endif()
    endif()
  endforeach()

  string(REGEX MATCHALL "design(\\.md)?('s)?,? (section |§ ?)?[0-9][0-9.]*('s [a-z]+)?" cited "${text}")
  foreach(reference IN LISTS cited)
    math(EXPR numbered "${numbered} + 1")
    if(is_document OR HEADERS)
      string(APPEND problems "\n  ${file} cites a numbered section, \"${reference}\": say (docs/design.md, \"Heading\")")
    endif()
  endforeach()

  if(NOT is_document)
    continue()
  endif()
  # The brackets are bars by now: |text|(path#anchor)
  string(REGEX MATCHALL "\\|\\([^() ]+\\)" cited "${text}")
  foreach(reference IN LISTS cited)
    string(REGEX REPLACE "^\\|\\(([^()]+)\\)$" "\\1" target "${reference}")
    if(target MATCHES "^[a-z]+:")
      continue()  # another site
    endif()
    math(EXPR count "${count} + 1")
    string(REGEX MATCH "^([^#]*)(#(.*))?$" all "${target}")
    set(path "${CMAKE_MATCH_1}")
    set(anchor "${CMAKE_MATCH_3}")
    if(path)
      cmake_path(SET to NORMALIZE "${folder}/${path}")
      string(REGEX REPLACE "^/" "" to "${to}")
    else()
      set(to "${file}")
    endif()
    if(NOT EXISTS "${ROOT}/${to}")
      string(APPEND problems "\n  ${file} links to ${path}, which does not exist")
    elseif(anchor)
      has_heading("${to}" "${anchor}" found)
      if(NOT found)
        string(APPEND problems "\n  ${file} links to ${target}: there is no such heading")
      endif()
    endif()
  endforeach()

  if(file STREQUAL "docs/errors.md")
    continue()
  endif()
  string(REGEX MATCHALL
    "(include|backends|tests|examples|benchmarks|cmake|scripts|docs)/[A-Za-z0-9_*<>/.-]*[A-Za-z0-9_*]" cited "${text}")
  foreach(path IN LISTS cited)
    if(path MATCHES "[*<>]" OR text MATCHES "build/[a-z]+/${path}")
      continue()  # a pattern; what a build makes
    endif()
    math(EXPR count "${count} + 1")
    if(NOT EXISTS "${ROOT}/${path}" AND NOT EXISTS "${ROOT}/${folder}/${path}")
      string(APPEND problems "\n  ${file} names ${path}, which does not exist")
    endif()
  endforeach()
endforeach()

if(count LESS 50)
  string(APPEND problems "\n  only ${count} references were found: this script no longer reads them")
endif()
if(problems)
  message(FATAL_ERROR "references:${problems}")
endif()
message(STATUS "references: ${count}, all there; numbered sections still cited by headers and sources: ${numbered}")
