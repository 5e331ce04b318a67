// All of mtf::checkpoint_compiled.
#include <mtf/checkpoint/code/checkpoints.hpp>
#include <mtf/checkpoint/code/config_file.hpp>
#include <mtf/checkpoint/code/config_values.hpp>
#include <mtf/checkpoint/code/extents_in.hpp>
#include <mtf/checkpoint/code/save.hpp>
#include <mtf/detail/train/code/run_progress.hpp>
#include <mtf/detail/train/code/training_run.hpp>
#include <mtf/train/code/event_file.hpp>
#include <mtf/train/code/run_log.hpp>
#include <mtf/train/code/run_report.hpp>
#include <mtf/train/code/run_screen.hpp>
