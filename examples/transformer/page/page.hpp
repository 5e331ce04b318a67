#pragma once
// The page of pictures of plans: the text before its data, and that behind. CMake makes both of the files here.
#include <string>

namespace transformer {

std::string page_before_data();
std::string page_after_data();

}  // namespace transformer
