# Wrong inputs of `train`: one line that says what is wrong, exit code 2, within seconds, nothing on standard output.
file(MAKE_DIRECTORY "${WORK}")
file(WRITE "${WORK}/empty.txt" "")
file(WRITE "${WORK}/short.txt" "short")

function(expect ranks pattern)
  execute_process(COMMAND ${MPIEXEC} ${NUMPROC_FLAG} ${ranks} "${TRAIN}" ${ARGN}
    OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code TIMEOUT 30)
  string(REPLACE ";" "," err "${err}")  # else a line would count as two list elements
  # mpirun adds its own banner about a non-zero exit; the program's lines are those that start with mtf.
  string(REGEX MATCHALL "(^|\n)mtf: [^\n]*" lines "${err}")
  list(LENGTH lines count)
  if(NOT code EQUAL 2 OR NOT count EQUAL 1 OR NOT lines MATCHES "${pattern}" OR out MATCHES "[Ss]tep")
    message(SEND_ERROR "${ARGN}\non ${ranks} ranks: exit code ${code}, expected 2; ${count} lines, expected 1 that matches"
      " \"${pattern}\"\n${out}${err}")
  endif()
endfunction()

expect(2 "no-such-file: No such file" --data no-such-file)
expect(2 "the file is empty" --data "${WORK}/empty.txt")
expect(2 "the file has 5 bytes, at least" --data "${WORK}/short.txt")
expect(2 "--data is required" --steps 1)
expect(2 "not expected: red --colour" --data "${DATA}" --colour red)
expect(2 "--steps" --data "${DATA}" --steps few)
expect(2 "--batch 7: this executable is built for [0-9]+" --data "${DATA}" --batch 7)
expect(2 "--log ${WORK}/no/such/folder: cannot be written" --data "${DATA}" --steps 1 --log "${WORK}/no/such/folder")
expect(1 "mesh data:2 needs 2 ranks, mpirun started 1: use mpirun -n 2" --data "${DATA}")
expect(3 "mesh data:2 needs 2 ranks, mpirun started 3: use mpirun -n 2" --data "${DATA}")

# A multi-rank program without mpirun, and --help without one.
execute_process(COMMAND "${TRAIN}" --data "${DATA}" ERROR_VARIABLE err RESULT_VARIABLE code TIMEOUT 30)
if(NOT code EQUAL 2 OR NOT err MATCHES "needs 2 ranks")
  message(SEND_ERROR "without mpirun: exit code ${code}\n${err}")
endif()
execute_process(COMMAND "${TRAIN}" --help OUTPUT_VARIABLE out RESULT_VARIABLE code TIMEOUT 30)
if(NOT code EQUAL 0 OR NOT out MATCHES "--learning-rate" OR NOT out MATCHES "fixed in this executable's types")
  message(SEND_ERROR "--help: exit code ${code}\n${out}")
endif()
