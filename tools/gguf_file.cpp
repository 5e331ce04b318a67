#include "gguf_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mtf/core/error.hpp>

namespace mtf::tools {
namespace {

/// Reads values one after the other, little-endian as the file has them, and never beyond its end.
class cursor {
 public:
  cursor(std::string const& path, std::string_view bytes) : path_(&path), bytes_(bytes) {}
  [[nodiscard]] std::size_t at() const { return at_; }
  template <class T>
  T next() {
    T x{};
    std::memcpy(&x, piece(sizeof(T)).data(), sizeof(T));
    return x;
  }
  std::string text() { return std::string(piece(next<std::uint64_t>())); }
  std::string_view piece(std::uint64_t n) {
    if (n > bytes_.size() - at_)
      throw mtf::user_error(*path_ + " is no whole GGUF file: it ends, after " + std::to_string(bytes_.size()) +
                            " bytes, within its header");
    auto const found = bytes_.substr(at_, n);
    at_ += n;
    return found;
  }

 private:
  std::string const* path_;
  std::string_view bytes_;
  std::size_t at_ = 0;
};

enum kinds : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, list, u64, i64, f64 };

std::optional<double> number_of(cursor& c, std::uint32_t kind) {
  switch (kind) {
    case u8:
    case boolean:
      return c.next<std::uint8_t>();
    case i8:
      return c.next<std::int8_t>();
    case u16:
      return c.next<std::uint16_t>();
    case i16:
      return c.next<std::int16_t>();
    case u32:
      return c.next<std::uint32_t>();
    case i32:
      return c.next<std::int32_t>();
    case f32:
      return static_cast<double>(c.next<float>());
    case u64:
      return static_cast<double>(c.next<std::uint64_t>());
    case i64:
      return static_cast<double>(c.next<std::int64_t>());
    case f64:
      return c.next<double>();
    default:
      return {};
  }
}

gguf_file::value value_in(cursor& c, std::string const& path, std::string const& key) {
  auto const unknown = [&](std::uint32_t kind) {
    throw mtf::user_error(path + ": \"" + key + "\" has a value of kind " + std::to_string(kind) +
                          ", which GGUF does not have, or not in a list");
  };
  auto const kind = c.next<std::uint32_t>();
  if (kind == text) return c.text();
  if (kind != list) {
    auto const n = number_of(c, kind);
    if (!n) unknown(kind);
    return *n;
  }
  auto const of = c.next<std::uint32_t>();
  auto const count = c.next<std::uint64_t>();
  if (of == text) {
    std::vector<std::string> all;
    for (std::uint64_t i = 0; i < count; ++i) all.push_back(c.text());
    return all;
  }
  std::vector<double> all;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto const n = number_of(c, of);
    if (!n) unknown(of);
    all.push_back(*n);
  }
  return all;
}

/// How elements lie: so many in a block of so many bytes.
struct block {
  std::uint32_t type;
  char const* name;
  std::uint64_t elements, bytes;
  void (*widen)(unsigned char const* from, float* to);
};

float half_at(unsigned char const* p) {
  unsigned const h = p[0] | unsigned{p[1]} << 8U;
  int const exponent = static_cast<int>(h >> 10U & 31U), mantissa = static_cast<int>(h & 1023U);
  float const x = exponent == 31  ? (mantissa == 0 ? HUGE_VALF : NAN)
                  : exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                  : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  return (h & 0x8000U) != 0 ? -x : x;
}
unsigned word_at(unsigned char const* p) {
  return p[0] | unsigned{p[1]} << 8U | unsigned{p[2]} << 16U | unsigned{p[3]} << 24U;
}

/// 32 elements of 4 bits, or of 5 whose highest are in `fifth`: those of the lower halves of bytes come first.
void nibbles(unsigned char const* q, unsigned fifth, float scale, float low, float* to) {
  for (unsigned j = 0; j < 16; ++j) {
    to[j] = scale * static_cast<float>((q[j] & 15U) | (fifth >> j & 1U) << 4U) + low;
    to[j + 16] = scale * static_cast<float>(q[j] >> 4U | (fifth >> (j + 16) & 1U) << 4U) + low;
  }
}
/// The scale and the minimum of the j-th eighth of a block of 256, 6 bits each.
std::pair<float, float> scale_and_min(unsigned j, unsigned char const* s) {
  if (j < 4) return {static_cast<float>(s[j] & 63U), static_cast<float>(s[j + 4] & 63U)};
  unsigned const both = s[j + 4], scale = s[j - 4], minimum = s[j];
  return {static_cast<float>((both & 15U) | scale >> 6U << 4U), static_cast<float>(both >> 4U | minimum >> 6U << 4U)};
}
/// Q4_K; Q5_K, if `high` has the fifth bits.
void super_block(unsigned char const* p, unsigned char const* high, unsigned char const* q, float* to) {
  float const d = half_at(p), least = half_at(p + 2);
  for (unsigned j = 0; j < 8; ++j) {
    auto const [scale, minimum] = scale_and_min(j, p + 4);
    for (unsigned l = 0; l < 32; ++l) {
      unsigned const low = j % 2 == 0 ? q[j / 2 * 32 + l] & 15U : q[j / 2 * 32 + l] >> 4U;
      unsigned const fifth = high == nullptr ? 0 : high[l] >> j & 1U;
      to[j * 32 + l] = d * scale * static_cast<float>(low | fifth << 4U) - least * minimum;
    }
  }
}

constexpr std::array<block, 11> blocks{{
    {0, "F32", 1, 4, [](unsigned char const* p, float* to) { std::memcpy(to, p, 4); }},
    {1, "F16", 1, 2, [](unsigned char const* p, float* to) { *to = half_at(p); }},
    {2, "Q4_0", 32, 18, [](unsigned char const* p, float* to) { nibbles(p + 2, 0, half_at(p), -8 * half_at(p), to); }},
    {3, "Q4_1", 32, 20, [](unsigned char const* p, float* to) { nibbles(p + 4, 0, half_at(p), half_at(p + 2), to); }},
    {6, "Q5_0", 32, 22,
     [](unsigned char const* p, float* to) { nibbles(p + 6, word_at(p + 2), half_at(p), -16 * half_at(p), to); }},
    {7, "Q5_1", 32, 24,
     [](unsigned char const* p, float* to) { nibbles(p + 8, word_at(p + 4), half_at(p), half_at(p + 2), to); }},
    {8, "Q8_0", 32, 34,
     [](unsigned char const* p, float* to) {
       for (unsigned j = 0; j < 32; ++j) to[j] = half_at(p) * static_cast<float>(static_cast<signed char>(p[2 + j]));
     }},
    {12, "Q4_K", 256, 144, [](unsigned char const* p, float* to) { super_block(p, nullptr, p + 16, to); }},
    {13, "Q5_K", 256, 176, [](unsigned char const* p, float* to) { super_block(p, p + 16, p + 48, to); }},
    {14, "Q6_K", 256, 210,
     [](unsigned char const* p, float* to) {
       float const d = half_at(p + 208);
       for (unsigned half = 0; half < 2; ++half)
         for (unsigned quarter = 0; quarter < 4; ++quarter)
           for (unsigned l = 0; l < 32; ++l) {
             unsigned const byte = p[64 * half + (quarter % 2) * 32 + l];
             unsigned const low = quarter < 2 ? byte & 15U : byte >> 4U;
             unsigned const high = p[128 + 32 * half + l] >> (2 * quarter) & 3U;
             auto const scale = static_cast<signed char>(p[192 + 8 * half + 2 * quarter + l / 16]);
             to[128 * half + 32 * quarter + l] =
                 d * static_cast<float>(scale) * (static_cast<float>(low | high << 4U) - 32);
           }
     }},
    {30, "BF16", 1, 2,
     [](unsigned char const* p, float* to) {
       unsigned const bits = unsigned{p[0]} << 16U | unsigned{p[1]} << 24U;
       std::memcpy(to, &bits, 4);
     }},
}};
block const* block_of(std::uint32_t type) {
  for (auto const& b : blocks)
    if (b.type == type) return &b;
  return nullptr;
}

}  // namespace

std::uint64_t gguf_tensor::size() const {
  std::uint64_t n = 1;
  for (auto const e : extents) n *= e;
  return n;
}

std::optional<std::uint64_t> bytes_of(std::uint32_t type, std::uint64_t elements) {
  auto const* const b = block_of(type);
  if (b == nullptr || elements % b->elements != 0) return {};
  return elements / b->elements * b->bytes;
}

gguf_file::gguf_file(std::string path, std::string_view bytes) : path_(std::move(path)) {
  cursor c(path_, bytes);
  if (bytes.size() < 4 || c.piece(4) != "GGUF")
    throw mtf::user_error(path_ + " is no GGUF file: it should begin with \"GGUF\"");
  auto const version = c.next<std::uint32_t>();
  if (version != 2 && version != 3)
    throw mtf::user_error(path_ + " has version " + std::to_string(version) + " of GGUF; 2 and 3 are read");
  auto const tensors = c.next<std::uint64_t>(), values = c.next<std::uint64_t>();
  for (std::uint64_t i = 0; i < values; ++i) {
    auto key = c.text();
    auto found = value_in(c, path_, key);
    if (!values_.emplace(key, std::move(found)).second)
      throw mtf::user_error(path_ + ": \"" + key + "\" is there twice");
  }
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    gguf_tensor t{.name = c.text(), .extents = {}, .type = 0, .bytes = {}};
    auto const ndim = c.next<std::uint32_t>();
    if (ndim == 0 || ndim > 4)
      throw mtf::user_error(path_ + ": the tensor " + t.name + " has " + std::to_string(ndim) +
                            " dimensions; GGUF's have 1 to 4");
    std::uint64_t elements = 1;
    for (std::uint32_t d = 0; d < ndim; ++d) {
      t.extents.push_back(c.next<std::uint64_t>());
      auto const e = t.extents.back();
      if (e == 0 || elements > (std::uint64_t{1} << 40U) / e)
        throw mtf::user_error(path_ + ": the tensor " + t.name + " has an extent of " + std::to_string(e) +
                              ", more or fewer elements than can be");
      elements *= e;
    }
    t.type = c.next<std::uint32_t>();
    offsets.push_back(c.next<std::uint64_t>());
    tensors_.push_back(std::move(t));
  }
  auto const* const asked = find_value<number>("general.alignment");
  auto const alignment = asked == nullptr ? 32 : static_cast<std::uint64_t>(std::clamp(*asked, 1.0, 1e6));
  auto const begin = (c.at() + alignment - 1) / alignment * alignment;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    auto& t = tensors_[i];
    auto const size = bytes_of(t.type, t.size());
    if (!size) continue;  // elements_of refuses it, if anybody asks
    if (begin > bytes.size() || offsets[i] > bytes.size() - begin || *size > bytes.size() - begin - offsets[i])
      throw mtf::user_error(path_ + " is no whole GGUF file: it ends, after " + std::to_string(bytes.size()) +
                            " bytes, within the tensor " + t.name);
    t.bytes = bytes.substr(begin + offsets[i], *size);
  }
}

gguf_tensor const* gguf_file::find(std::string const& name) const {
  for (auto const& t : tensors_)
    if (t.name == name) return &t;
  return nullptr;
}
std::int64_t gguf_file::count(std::string const& key) const {
  auto const n = get<number>(key);
  if (n < 0 || n > 1e9 || n != std::floor(n))
    throw mtf::user_error(path_ + ": \"" + key + "\" should be a whole number, found " + std::to_string(n));
  return static_cast<std::int64_t>(n);
}
void gguf_file::lacks(std::string const& key) const { throw mtf::user_error(path_ + " does not say \"" + key + "\""); }
void gguf_file::is_other(std::string const& key) const {
  throw mtf::user_error(path_ + ": \"" + key + "\" has a value of another kind than a model's");
}

std::string name_of_type(std::uint32_t type) {
  auto const* const b = block_of(type);
  return b == nullptr ? "type " + std::to_string(type) : b->name;
}

std::vector<float> elements_of(gguf_tensor const& tensor, std::string const& path) {
  std::vector<float> all(tensor.bytes.empty() ? 0 : tensor.size());
  elements_of(tensor, path, 0, all);
  return all;
}

void elements_of(gguf_tensor const& tensor, std::string const& path, std::uint64_t begin, std::span<float> to) {
  auto const* const b = block_of(tensor.type);
  if (b == nullptr || tensor.size() % b->elements != 0) {
    std::string read;
    for (auto const& known : blocks) read += (read.empty() ? "" : ", ") + std::string(known.name);
    throw mtf::user_error(path + ": the tensor " + tensor.name + " is of GGUF's type " + std::to_string(tensor.type) +
                          ", or not of whole blocks of it; read are " + read);
  }
  auto const* const from = reinterpret_cast<unsigned char const*>(tensor.bytes.data());
  std::array<float, 256> part{};  // of a block that is not asked for as a whole
  for (std::uint64_t done = 0; done < to.size();) {
    auto const block = (begin + done) / b->elements, skipped = (begin + done) % b->elements;
    auto const some = std::min<std::uint64_t>(b->elements - skipped, to.size() - done);
    if (some == b->elements) {
      b->widen(from + block * b->bytes, to.data() + done);
    } else {
      b->widen(from + block * b->bytes, part.data());
      std::copy_n(part.data() + skipped, some, to.data() + done);
    }
    done += some;
  }
}

}  // namespace mtf::tools
