#pragma once
// Pages for browsers, with Chart.js and their data in them. CMake makes the functions of the files here (page.cmake).
#include <string>

namespace mtf::tools {

/// Plans of layouts, side by side. The data: JSON, as `plan --json` writes it.
std::string plan_page(std::string const& json);
/// A training run. The data: JSON, as mtf::report_json.
std::string run_page(std::string const& json);

}  // namespace mtf::tools
