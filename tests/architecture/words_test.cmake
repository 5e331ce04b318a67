# Words that mtf does not use, as another stands for the thing (docs/glossary.md):
#   cmake -D ROOT=. -P words_test.cmake
# In headers, tests and documents; not in notes, which quote.
cmake_minimum_required(VERSION 3.25)

set(words
  "cut|cuts|cutting" "split"
  "max_rank" "max_dims")

file(GLOB_RECURSE files "${ROOT}/include/*.hpp" "${ROOT}/backends/*.hpp" "${ROOT}/backends/*.cpp" "${ROOT}/models/*.?pp"
  "${ROOT}/tools/*.?pp" "${ROOT}/examples/*.?pp"
  "${ROOT}/tests/*.?pp" "${ROOT}/benchmarks/*.?pp" "${ROOT}/docs/*.md" "${ROOT}/*.md")
list(FILTER files EXCLUDE REGEX "/(docs/notes|build)/")
list(LENGTH files count)
if(count LESS 250)
  message(FATAL_ERROR "only ${count} files were found below ${ROOT}")
endif()

set(problems "")
foreach(file IN LISTS files)
  file(STRINGS "${file}" lines)  # a list: brackets and semicolons in lines join some, which is all the same here
  set(rest "${words}")
  while(rest)
    list(POP_FRONT rest word instead)
    if(lines MATCHES "(^|[^A-Za-z])(${word})([^A-Za-z]|$)")
      cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${ROOT}" OUTPUT_VARIABLE name)
      string(APPEND problems "\n  ${name}: \"${CMAKE_MATCH_2}\"; mtf says \"${instead}\"")
    endif()
  endwhile()
endforeach()
if(problems)
  message(FATAL_ERROR "words that have another name here:${problems}")
endif()
message(STATUS "words: ${count} files")
