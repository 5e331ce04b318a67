# Wrong files of `digits`: one line that says what is wrong and where, exit code 2.
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
file(STRINGS "${DATA}" rows LIMIT_COUNT 3)
list(GET rows 0 row)

# expect(NAME PATTERN LINE...): of a file of these lines, NAME.csv.
function(expect name pattern)
  list(JOIN ARGN "\n" text)
  if(ARGC GREATER 2)
    file(WRITE "${WORK}/${name}.csv" "${text}\n")
  endif()
  foreach(attempt RANGE 2)
    execute_process(COMMAND ${MPIEXEC} ${NUMPROC_FLAG} 2 "${DIGITS}" "${WORK}/${name}.csv" OUTPUT_VARIABLE out
      ERROR_VARIABLE err RESULT_VARIABLE code TIMEOUT 60)
    # On a loaded machine Open MPI 4.1.4's mpirun sometimes fails itself when it has told how its ranks ended.
    if(NOT err MATCHES "PMIx_server_finalize|ORTE_ERROR_LOG")
      break()
    endif()
  endforeach()
  string(REPLACE ";" "," err "${err}")  # CMake's lists would take them for their own
  string(REGEX MATCHALL "mtf: [^\n]*\n" lines "${err}")
  list(LENGTH lines count)
  if(NOT code EQUAL 2 OR NOT count EQUAL 1 OR NOT lines MATCHES "^mtf: .*${pattern}" OR out MATCHES "epoch")
    message(SEND_ERROR "${name}: exit code ${code}, expected 2; ${count} lines \"mtf: ...\", expected 1 that matches"
      " \"${pattern}\"\n${out}${err}")
  endif()
endfunction()

string(REGEX REPLACE "[0-9]+$" "10" wrong_digit "${row}")
string(REGEX REPLACE "^[0-9]+" "17" wrong_count "${row}")
string(REGEX REPLACE "^[0-9]+" "x" no_number "${row}")
expect(no-such-file "no-such-file.csv: cannot be read")
expect(columns "columns.csv:4: expected 65 columns, found 3" ${rows} "1,2,3")
expect(one-more "one-more.csv:2: expected 65 columns, found 66" "${row}" "${row},1")
expect(digit "digit.csv:4: the digit: expected a number from 0 to 9, found 10" ${rows} "${wrong_digit}")
expect(count "count.csv:1: column 1: expected a number from 0 to 16, found 17" "${wrong_count}")
expect(no-number "no-number.csv:4: column 1: expected a whole number, found \"x\"" ${rows} "${no_number}")
