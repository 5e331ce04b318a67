# The page of `plan --html` in a real browser: plan_check.html.
include("${CMAKE_CURRENT_LIST_DIR}/page_checks.cmake")
if(NOT CHROMIUM)
  return()
endif()
execute_process(COMMAND "${PLAN}" --mesh "data:2,model:2" --layout "batch:data,heads:model,d_ff:model,vocab:model"
  --layout "batch:data+model" --layout "batch:data,sequence:model" --html "${WORK}/page.html" --json "${WORK}/plan.json"
  OUTPUT_QUIET RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "plan --html: exit code ${code}")
endif()
check_page(plan)

must_fail("a chart that is not drawn" "  drawMemory();\n" "")
must_fail("an error in the script" "function drawBytes() {" "function drawBytes() { missing();")
must_fail("clicks that do nothing" "o.onClick = " "o.onClack = ")
must_fail("shards of the wrong ranks" "index = index * n + at[axis], parts *= n" "parts *= n")
must_fail("a page wider than a narrow window" ".scroll { overflow-x: auto; }" "")
must_fail("a price with hidden time counted twice" "l.price.collectives - l.price.hidden" "l.price.collectives")
