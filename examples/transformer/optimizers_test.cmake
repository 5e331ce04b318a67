# `train --optimizer`: each trains two ranks like one, with its numbers; another number of its own changes the losses. (A
# run ends with an error if its first step sends anything else than planned.) Its checkpoints are no other's.
file(MAKE_DIRECTORY "${WORK}")
set(flags --data "${DATA}" --steps 3 --warmup 1 --eval-every 3 --sample 0)

# run(log code arguments...): on one rank, or under LAUNCHER.
function(run log expected)
  execute_process(COMMAND ${LAUNCHER} "${TRAIN}" ${flags} --log "${WORK}/${log}.jsonl" ${ARGN} OUTPUT_VARIABLE out
    ERROR_VARIABLE err RESULT_VARIABLE code TIMEOUT 120)
  if(NOT code EQUAL expected)
    message(FATAL_ERROR "${ARGN}: exit code ${code}, expected ${expected}\n${out}${err}")
  endif()
  set(err "${err}" PARENT_SCOPE)
endfunction()
# The logs have the same losses, or not.
function(compare one other expected)
  execute_process(COMMAND "${COMPARE}" "${WORK}/${one}.jsonl" "${WORK}/${other}.jsonl" 1e-4 OUTPUT_VARIABLE out
    ERROR_VARIABLE out RESULT_VARIABLE code)
  if(NOT code EQUAL expected)
    message(SEND_ERROR "${one} and ${other}: exit code ${code}, expected ${expected}\n${out}")
  endif()
endfunction()

# check(optimizer rate NUMBERS those that it has by default OTHER another one)
function(check optimizer rate)
  list(APPEND flags --learning-rate ${rate})
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "NUMBERS;OTHER")
  run(${optimizer} 0 --optimizer ${optimizer})
  run(${optimizer}-other 0 --optimizer ${optimizer} ${arg_OTHER})
  set(LAUNCHER ${MPIEXEC} ${NUMPROC_FLAG} 2)
  run(${optimizer}-2 0 --optimizer ${optimizer} ${arg_NUMBERS} --mesh data:2 --layout batch:data)
  compare(${optimizer} ${optimizer}-2 0)
  compare(${optimizer} ${optimizer}-other 1)
endfunction()
check(adamw 0.001 NUMBERS --beta1 0.9 --beta2 0.95 --epsilon 1e-8 --weight-decay 0.1 --clip 1 OTHER --beta1 0.5)
check(adam 0.001 NUMBERS --beta1 0.9 --beta2 0.999 --epsilon 1e-6 --state whole OTHER --epsilon 0.1)
check(lion 0.0003 NUMBERS --beta1 0.9 --beta2 0.99 OTHER --beta2 0.5)
check(adafactor 0.01 NUMBERS --decay-exponent 0.8 --clip-rms 1 --epsilon1 1e-30 --epsilon2 1e-3 OTHER --clip-rms 0.1)
check(momentum 0.1 NUMBERS --momentum 0.9 OTHER --momentum 0)
check(sgd 0.1 NUMBERS --momentum 0 OTHER --momentum 0.9)

file(REMOVE_RECURSE "${WORK}/checkpoints")
run(lion 0 --optimizer lion --checkpoint "${WORK}/checkpoints")
run(lion 2 --optimizer sgd --checkpoint "${WORK}/checkpoints" --resume)
if(NOT err MATCHES "^mtf: [^\n]*step-00000003 was written with another optimizer: lion, now sgd\n$")
  message(SEND_ERROR "another optimizer's checkpoint: ${err}")
endif()
