#pragma once
// What is done about a step that went wrong.
#include <cstdint>

namespace mtf {

/// What a training loop does about a step that went wrong: `skip`: the parameters stay, and the next batch comes;
/// `stop`: an error; `go_on`: the update as ever.
enum class on_trouble : std::uint8_t { go_on, skip, stop };

}  // namespace mtf
