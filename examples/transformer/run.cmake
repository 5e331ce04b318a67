# run(COMMAND...): it must succeed; `out` is what it says.
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE out RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nexit code ${code}\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

# chosen(MESH LAYOUT PASS COMMAND...): what it says that it chose, in one line, for which pass. `out`: what it writes.
function(chosen mesh layout pass)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
  if(NOT code EQUAL 0 OR NOT err MATCHES
     "^mtf: --choose [a-z]+: --mesh '?([^ ']+)'? --layout '?([^ ']*)'?, of [0-9]+ layouts; ${pass} would take [0-9.e+-]+ ms on [^ ]+; a rank sends [0-9.e+-]+ MB and holds [0-9.e+-]+ MB\n$")
    message(FATAL_ERROR "${ARGN}\nexit code ${code}\n${out}\n${err}")
  endif()
  string(REPLACE ";" "," said "${CMAKE_MATCH_1} ${CMAKE_MATCH_2}")  # which separates the elements of a list
  string(REGEX MATCH "^([^ ]+) (.*)$" said "${said}")
  set(${mesh} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  set(${layout} "${CMAKE_MATCH_2}" PARENT_SCOPE)
  set(out "${out}" PARENT_SCOPE)
endfunction()

# refused(EXPECTED COMMAND...): it says one line, which matches, and nothing else, and ends with exit code 2.
function(refused expected)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code TIMEOUT 120)
  if(NOT code EQUAL 2 OR NOT err MATCHES "^mtf: [^\n]*\n$" OR NOT err MATCHES "${expected}" OR NOT out STREQUAL "")
    message(FATAL_ERROR "${ARGN}\nexit code ${code}, expected: ${expected}\n${out}\n${err}")
  endif()
endfunction()

# refused_later(EXPECTED COMMAND...): the same where something may have been said before on standard output. mpirun adds lines.
function(refused_later expected)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code TIMEOUT 120)
  string(REPLACE ";" "," lines "${err}")  # which separates the elements of a list
  list(GET ARGN 0 program)
  list(FIND MPIEXEC "${program}" at)
  if(at GREATER -1)
    string(REGEX MATCHALL "mtf: [^\n]*\n" lines "${lines}")
  else()
    string(REGEX MATCHALL "[^\n]*\n" lines "${lines}")
  endif()
  list(LENGTH lines count)
  if(NOT code EQUAL 2 OR NOT count EQUAL 1 OR NOT err MATCHES "mtf: [^\n]*${expected}")
    message(FATAL_ERROR "${ARGN}\nexit code ${code}, expected: ${expected}\n${out}\n${err}")
  endif()
endfunction()
