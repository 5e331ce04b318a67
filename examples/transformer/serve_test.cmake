# `serve`: what it answers is what `generate` writes, whatever is asked beside it, on one rank and on several; told to end, it
# ends. Wrong options are one line.
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

run("${CONVERT}" "${MODELS}/letters.gguf" "${WORK}/letters")
file(WRITE "${WORK}/prompts.txt" "the 12 \"cats\"\nAB\nc\nHello world\nthe the the the the the\n")
execute_process(COMMAND "${GENERATE}" --model "${WORK}/letters" --prompts "${WORK}/prompts.txt" --max-new-tokens 24 --temperature 0.9
  --seed 7 --ignore-eos --quiet --rows 1 OUTPUT_FILE "${WORK}/expected.jsonl" RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "generate: exit code ${code}")
endif()
function(asked)
  execute_process(COMMAND "${CLIENT}" "${WORK}/prompts.txt" "${WORK}/expected.jsonl" -- ${ARGN} RESULT_VARIABLE code
    OUTPUT_VARIABLE out ERROR_VARIABLE err TIMEOUT 120)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nexit code ${code}\n${out}${err}")
  endif()
endfunction()
set(serve "${SERVE}" --model "${WORK}/letters" --port 0)
asked(${serve} --rows 1)
asked(${serve} --rows 16 --chunk 3)
asked(${serve} --rows 6 --ranks-as-threads --mesh "data:2,model:2" --layout "batch:data,kv_heads:model,d_ff:model,vocab:model")
asked(${MPIEXEC} ${NUMPROC_FLAG} 2 ${serve} --rows 8 --mesh "keys:2" --layout "memory:keys")
asked(${serve} --rows 4 --ranks-as-threads --choose seconds --ranks 2)
asked("${SERVE}" --model "${MODELS}/letters.gguf" --port 0)

refused("--model is required" "${SERVE}")
refused("nowhere/config.json cannot be read" "${SERVE}" --model "${WORK}/nowhere")
refused("expected a whole number from 0 to 65535, found \"65536\"" "${SERVE}" --model "${WORK}/letters" --port 65536)
refused("--host here: an address was expected, such as 127.0.0.1" "${SERVE}" --model "${WORK}/letters" --host here)
refused("has no tokenizer.json, vocab.json or tokenizer.model" "${SERVE}" --model "${MODELS}/gpt2")
