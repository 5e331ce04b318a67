# On one rank the experts become special, or the program says no; on others, and under other layouts, the losses of its
# first steps are the same: later ones differ by more than rounding, once a token has found another expert.
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
set(launch ${MPIEXEC} ${NUMPROC_FLAG})
execute_process(COMMAND ${launch} 1 "${MOE}" --expect 0.85 OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
message("${said}")
set(short "${MOE}" --steps 40)
execute_process(COMMAND ${launch} 1 ${short} --log "${WORK}/one" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
function(as_on_one name ranks)
  execute_process(COMMAND ${launch} ${ranks} ${short} ${ARGN} --log "${WORK}/${name}" OUTPUT_QUIET
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${COMPARE}" "${WORK}/one" "${WORK}/${name}" 1e-4 COMMAND_ERROR_IS_FATAL ANY)
endfunction()
as_on_one(two 2)
as_on_one(four 4)
as_on_one(both 4 --mesh "data:2,model:2" --layout "group:data" --experts "expert:data,d_ff:model")
as_on_one(model 2 --mesh model:2 --layout expert:model --experts expert:model)
