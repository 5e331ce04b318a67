# Trains 20 steps with one rank and under another layout, with dropout: the losses agree to 1e-4.
set(flags --data "${DATA}" --steps 20 --warmup 5 --eval-every 20 --sample 0 --dropout 0.1)
file(MAKE_DIRECTORY "${WORK}")
execute_process(COMMAND "${ONE}" ${flags} --log "${WORK}/one.jsonl" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${MPIEXEC} ${NUMPROC_FLAG} ${RANKS} "${TRAIN}" ${flags} --log "${WORK}/other.jsonl"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${COMPARE}" "${WORK}/one.jsonl" "${WORK}/other.jsonl" 1e-4 COMMAND_ERROR_IS_FATAL ANY)
