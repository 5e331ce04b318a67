# What the programs of tests/install/tools do, a model of a project's own: it is planned, trained on two ranks as it was
# planned, reported, and goes on from its checkpoint. Run in the folder of the programs.
separate_arguments(mpiexec UNIX_COMMAND "${MPIEXEC}")
set(data "${CMAKE_CURRENT_LIST_FILE}")
set(under --mesh data:2 --layout batch:data)

include("${CMAKE_CURRENT_LIST_DIR}/said.cmake")

# Planned: as text, as JSON, as a page; and the best layouts, with the program that runs them.
run(plan ./plan ${under} --json plan.json --html plan.html)
has(plan "${plan}" "all-reduce over data" "a step takes [0-9.]+ ms on h100")
file(READ plan.json json)
string(JSON sent GET "${json}" layouts 0 bytes_sent)
string(JSON model GET "${json}" model)
if(NOT sent GREATER 0 OR NOT model STREQUAL "batch 8, sequence 32, hidden 16, vocab 256")
  message(SEND_ERROR "plan --json: ${sent} bytes sent, of the model ${model}")
endif()
file(READ plan.html page)
has("plan --html" "${page}" "<canvas" "input: labels" "vocab 256")
run(chosen ./plan --choose seconds --ranks 2)
has("plan --choose" "${chosen}" "layouts of the least seconds" "mpirun -n 2 ./train --mesh")

# Trained: it learns, and sends what was planned, or it would end with an error.
file(REMOVE_RECURSE run)
set(train ${mpiexec} ${NUMPROC_FLAG} 2 ./train ${under} --data "${data}" --steps 20 --warmup 0 --eval-every 10
  --learning-rate 0.1 --sample 20 --checkpoint run --every 10)
run(trained ${train} --log log.jsonl --report run.html)
math(EXPR hundredths "(${sent} + 5000) / 10000")
has(train "${trained}" "8192 parameters, mesh data:2, layout \"batch:data\"; [0-9]+ bytes of text" "bits per byte"
  "each rank sends 0.0?${hundredths} MB a step" "--- a sample ---")
file(STRINGS log.jsonl steps)
list(LENGTH steps count)
list(GET steps 0 first)
list(GET steps -1 last)
string(JSON before GET "${first}" loss)
string(JSON after GET "${last}" loss)
if(NOT count EQUAL 20 OR NOT after LESS before)
  message(SEND_ERROR "the log: ${count} steps, expected 20; the loss went from ${before} to ${after}")
endif()
# Another layout goes on from the checkpoint.
run(resumed ./train --data "${data}" --steps 22 --warmup 0 --sample 0 --checkpoint run --resume)
has("train --resume" "${resumed}" "goes on after step 20")

# Reported: a page with its data and what draws it.
file(READ run.html page)
has("train --report" "${page}" "<canvas" "Chart.js" "A language model learns tools_test.cmake" "bits/byte"
  "batch 8, sequence 32, hidden 16, vocab 256" "\"state\":\"finished\"")

# What this model has not, is no option: dropout, a layout of the upper half.
foreach(flag IN ITEMS --dropout --upper-layout --recompute)
  execute_process(COMMAND ./train --data "${data}" ${flag} 0 ERROR_VARIABLE error RESULT_VARIABLE code)
  if(NOT code EQUAL 2 OR NOT error MATCHES "^mtf: [^\n]*not expected: 0 ${flag}")
    message(SEND_ERROR "${flag}: exit code ${code}\n${error}")
  endif()
endforeach()

# Of a file of tokens, if the package has `prepare`.
if(EXISTS "${STAGE}/bin/mtf-prepare")
  run(prepared "${STAGE}/bin/mtf-prepare" "${data}" -o tokens.bin)
  run(trained ./train --data tokens.bin --steps 2 --sample 5)
  has("train --data tokens.bin" "${trained}" "[0-9]+ tokens in 1 document, vocabulary 256" "bits per token")
endif()
