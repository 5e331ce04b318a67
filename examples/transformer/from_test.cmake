# `train --from` a directory that transformers saved: under any layout as on one rank; `--write` makes another one, from
# which training goes on. What does not fit is one line.
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
# Bytes that a vocabulary of 61 has.
string(REPEAT "31415926535 897932384 : 62643383279 50288419716 + 93993751058 20974944592\n" 40 text)
file(WRITE "${WORK}/digits.txt" "${text}")
set(flags --data "${WORK}/digits.txt" --batch 4 --sequence 16 --steps 12 --warmup 2 --eval-every 12 --sample 0)

include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")
function(refused expected)
  execute_process(COMMAND "${TRAIN}" ${flags} ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
  string(REGEX REPLACE "\n$" "" line "${err}")
  if(NOT code EQUAL 2 OR NOT line MATCHES "^mtf: [^\n]*$" OR NOT line MATCHES "${expected}")
    message(FATAL_ERROR "${ARGN}\nexit code ${code}, expected: ${expected}\n${out}\n${err}")
  endif()
endfunction()

foreach(model IN ITEMS gpt2 gpt2-untied llama llama-tied)
  set(train "${TRAIN}")
  set(split "heads:model")
  set(keys n_layer n_embd n_head n_positions)
  set(padded --vocab 61/2)
  if(model MATCHES "llama")
    set(train "${TRAIN_LLAMA}")
    set(split "kv_heads:model")
    set(keys num_hidden_layers hidden_size intermediate_size num_attention_heads num_key_value_heads head_dim rms_norm_eps
      rope_parameters max_position_embeddings)
    if(model MATCHES "tied")
      list(APPEND padded --kv-heads 3/2)
    endif()
  endif()
  run("${train}" ${flags} --from "${MODELS}/${model}" --log "${WORK}/${model}.jsonl" --write "${WORK}/${model}")
  if(NOT out MATCHES "written to ${WORK}/${model}")
    message(FATAL_ERROR "${out}")
  endif()
  run(${MPIEXEC} ${NUMPROC_FLAG} 4 "${train}" ${flags} --from "${MODELS}/${model}" ${padded} --log "${WORK}/${model}-4.jsonl"
    --mesh "data:2,model:2" --layout "batch:data,${split},d_ff:model,vocab:model" --write "${WORK}/${model}-4")
  execute_process(COMMAND "${COMPARE}" "${WORK}/${model}.jsonl" "${WORK}/${model}-4.jsonl" 1e-4 COMMAND_ERROR_IS_FATAL ANY)
  # The config says what it said.
  file(READ "${WORK}/${model}-4/config.json" config)
  file(READ "${MODELS}/${model}/config.json" theirs)
  foreach(key IN LISTS keys ITEMS vocab_size eos_token_id model_type tie_word_embeddings dtype)
    string(JSON ours GET "${config}" ${key})
    string(JSON expected GET "${theirs}" ${key})
    set(same FALSE)
    if(key STREQUAL "rope_parameters")
      string(JSON same EQUAL "${ours}" "${expected}")
    endif()
    if(NOT ours STREQUAL expected AND NOT same)
      message(FATAL_ERROR "${key}: ${ours}, not ${expected}\n${config}")
    endif()
  endforeach()
  # It goes on from there, on any number of ranks, and may replace what it wrote.
  foreach(from IN ITEMS ${model} ${model}-4)
    run("${train}" ${flags} --from "${WORK}/${from}" --log "${WORK}/${from}-on.jsonl" --write "${WORK}/${from}")
  endforeach()
  execute_process(COMMAND "${COMPARE}" "${WORK}/${model}-on.jsonl" "${WORK}/${model}-4-on.jsonl" 1e-4
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# What a Llama's config says besides sizes is the model's also where the weights are named alone.
run("${TRAIN_LLAMA}" ${flags} --from "${MODELS}/llama-tied/model.safetensors" --model "${MODELS}/llama-tied/config.json"
  --log "${WORK}/alone.jsonl" --write "${WORK}/alone")
execute_process(COMMAND "${COMPARE}" "${WORK}/llama-tied.jsonl" "${WORK}/alone.jsonl" 0 COMMAND_ERROR_IS_FATAL ANY)
file(READ "${WORK}/alone/config.json" config)
file(READ "${MODELS}/llama-tied/config.json" theirs)
string(JSON ours GET "${config}" rope_parameters)
string(JSON expected GET "${theirs}" rope_parameters)
string(JSON same EQUAL "${ours}" "${expected}")
if(NOT same)
  message(FATAL_ERROR "rope_parameters: ${ours}, not ${expected}")
endif()

# A model of one's own, too.
run("${TRAIN}" ${flags} --vocab 61 --layers 2 --d-model 16 --heads 2 --write "${WORK}/own")
run("${TRAIN}" ${flags} --from "${WORK}/own/model.safetensors" --model "${WORK}/own/config.json")

refused("nowhere/config.json cannot be read" --from "${WORK}/nowhere")
refused("gpt2 is not what is read, in [0-9]+ ways: the tensor transformer.wte.weight is .61, 32.; here it is .vocab 61, d_model 64.; the tensor"
  --from "${MODELS}/gpt2" --d-model 64)
refused("it has no tensor transformer.h.3.ln_1.weight, " --from "${MODELS}/gpt2" --layers 4)
refused("not in the structure that is read: transformer.h.2" --from "${MODELS}/gpt2" --layers 2)
refused("has no tensor lm_head.weight; it has " --from "${MODELS}/gpt2" --untied-output 1)
refused("--write: 1 required TEXT missing" --write)
# Before the training.
refused("is there, and is no checkpoint that could be replaced" --steps 1000000 --from "${MODELS}/gpt2" --write "${MODELS}")
foreach(change IN ITEMS "activation_function;\"gelu\";gelu_new, not gelu," "layer_norm_epsilon;1e-6;1e-05"
    "scale_attn_by_inverse_layer_idx;true;false" "model_type;\"llama\";gpt2, not llama,")
  list(GET change 0 key)
  list(GET change 1 value)
  list(GET change 2 should)
  file(READ "${MODELS}/gpt2/config.json" config)
  string(JSON config SET "${config}" ${key} "${value}")
  file(WRITE "${WORK}/config.json" "${config}")
  refused("config.json: ${key} should be ${should}" --model "${WORK}/config.json")
endforeach()
