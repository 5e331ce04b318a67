#pragma once
// The bytes of event files: records as TensorFlow frames them (tensorflow/core/lib/io/record_writer.h), in each a
// message Event in Protocol Buffers' encoding (tensorflow/core/util/event.proto, framework/summary.proto). Needs ISA-L.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <mtf/detail/checkpoint/checksum.hpp>
#include <mtf/train/step_record.hpp>

namespace mtf::detail {

/// Adds an integer's bytes, the lowest first.
template <class T>
void add_bytes(std::string& to, T x) {
  for (std::size_t i = 0; i < sizeof x; ++i) to += static_cast<char>(x >> (8 * i) & 0xffU);
}

/// A length, the checksum of its bytes, the data, the checksum of the data. (Checksums are masked, so that data which
/// has checksums in it still has good ones.)
inline std::string event_record(std::string_view data) {
  auto const add_checksum = [](std::string& to, std::string_view of) {
    auto const c = checksum_of(of.data(), of.size());
    add_bytes(to, static_cast<std::uint32_t>((c >> 15U | c << 17U) + 0xa282ead8U));
  };
  std::string record;
  add_bytes(record, std::uint64_t{data.size()});
  add_checksum(record, std::string(record));
  record += data;
  add_checksum(record, data);
  return record;
}

/// A message of Protocol Buffers, field by field. (A varint has 7 bits a byte, the lowest first; the highest bit says
/// that more follow. Before a field's value are its number and how long it is.)
class proto_message {
 public:
  /// 0 is what a field is that is not there.
  proto_message& integer(unsigned field, std::uint64_t x) {
    if (x == 0) return *this;
    varint(field << 3U);
    varint(x);
    return *this;
  }
  proto_message& number(unsigned field, double x) {
    varint(field << 3U | 1U);
    add_bytes(bytes_, std::bit_cast<std::uint64_t>(x));
    return *this;
  }
  proto_message& number(unsigned field, float x) {
    varint(field << 3U | 5U);
    add_bytes(bytes_, std::bit_cast<std::uint32_t>(x));
    return *this;
  }
  /// A text, or another message.
  proto_message& text(unsigned field, std::string_view x) {
    varint(field << 3U | 2U);
    varint(x.size());
    bytes_ += x;
    return *this;
  }
  [[nodiscard]] std::string const& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t x) {
    for (; x >= 128; x >>= 7U) bytes_ += static_cast<char>(x | 128U);
    bytes_ += static_cast<char>(x);
  }

  std::string bytes_;
};

/// What a file begins with; `seconds`: since 1970.
inline std::string event_version(double seconds) {
  return event_record(proto_message().number(1, seconds).text(3, "brain.Event:2").bytes());
}
/// The run goes on after this step: later ones of other files are void.
inline std::string event_start(double seconds, std::int64_t step) {
  return event_record(proto_message()
                          .number(1, seconds)
                          .integer(2, static_cast<std::uint64_t>(step))
                          .text(7, proto_message().integer(1, 1).bytes())
                          .bytes());
}
/// A step's numbers.
inline std::string event_scalars(double seconds, std::int64_t step, named_numbers const& numbers) {
  proto_message summary;
  for (auto const& [name, value] : numbers)
    summary.text(1, proto_message().text(1, name).number(2, static_cast<float>(value)).bytes());
  return event_record(
      proto_message().number(1, seconds).integer(2, static_cast<std::uint64_t>(step)).text(5, summary.bytes()).bytes());
}

}  // namespace mtf::detail
