# run(COMMAND...): it must succeed; `out` is what it says.
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE out RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nexit code ${code}\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()
