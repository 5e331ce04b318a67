# The page of `train --report` in a real browser: run_check.html.
include("${CMAKE_CURRENT_LIST_DIR}/page_checks.cmake")
if(NOT CHROMIUM)
  return()
endif()
execute_process(COMMAND "${TRAIN}" --data "${CMAKE_CURRENT_LIST_DIR}/../../models/gpt2/model.hpp" --steps 20 --eval-every 10 --sample 0
  --report "${WORK}/page.html" OUTPUT_QUIET RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "train --report: exit code ${code}")
endif()
check_page(run)

must_fail("a chart that is not drawn" "  drawMachine();\n" "")
must_fail("clicks that do nothing" "o.onClick = " "o.onClack = ")
must_fail("losses in another unit" "y * data.loss_scale" "y")
must_fail("a mean that lags" "(sums[i + r + 1] - sums[i - r]) / (2 * r + 1)" "(sums[i + 1] - sums[Math.max(0, i - 2 * r)]) / (2 * r + 1)")
must_fail("a button without effect" "view = name;" "")
must_fail("operations that are not all of a step" "seconds: {product: 0, kernel: 0, collective: 0, rest: Math.max(0, profile.seconds - measured)}}"
  "seconds: {product: 0, kernel: 0, collective: 0, rest: 0}}")
