#pragma once
// Checkpoints: structures of tensors in safetensors files. Needs nlohmann-json and ISA-L: link mtf::checkpoint.
// IWYU pragma: begin_exports
#include <mtf/checkpoint/checkpoints.hpp>
#include <mtf/checkpoint/config_file.hpp>
#include <mtf/checkpoint/config_values.hpp>
#include <mtf/checkpoint/extents_in.hpp>
#include <mtf/checkpoint/safetensors.hpp>
#include <mtf/checkpoint/save.hpp>
// IWYU pragma: end_exports
