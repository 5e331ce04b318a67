# Trains under another layout what ONE's program has trained, with dropout: the losses of all steps agree to TOLERANCE
# (1e-4 if it is not given). Without MPIEXEC the ranks are threads. UNDER: options that choose a layout.
if(NOT DEFINED TOLERANCE)
  set(TOLERANCE 1e-4)
endif()
set(launcher "")
if(MPIEXEC)
  set(launcher ${MPIEXEC} ${NUMPROC_FLAG} ${RANKS})
endif()
execute_process(COMMAND ${launcher} "${TRAIN}" ${UNDER} ${FLAGS} --log "${OTHER}" COMMAND_ERROR_IS_FATAL ANY)
# It checked itself that its first step sent what was planned; the plan is also there to read, without mpirun.
execute_process(COMMAND "${TRAIN}" ${UNDER} --plan OUTPUT_VARIABLE plan COMMAND_ERROR_IS_FATAL ANY)
if(NOT plan MATCHES "sent by each rank in one step: [1-9]")
  message(FATAL_ERROR "--plan: what does a step send?\n${plan}")
endif()
execute_process(COMMAND "${COMPARE}" "${ONE}" "${OTHER}" ${TOLERANCE} COMMAND_ERROR_IS_FATAL ANY)
