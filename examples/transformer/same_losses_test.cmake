# Trains under another layout what train-one has trained, with dropout: the losses of all steps agree to 1e-4. Without
# MPIEXEC the ranks are threads.
set(launcher "")
if(MPIEXEC)
  set(launcher ${MPIEXEC} ${NUMPROC_FLAG} ${RANKS})
endif()
execute_process(COMMAND ${launcher} "${TRAIN}" ${FLAGS} --log "${OTHER}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${COMPARE}" "${ONE}" "${OTHER}" 1e-4 COMMAND_ERROR_IS_FATAL ANY)
