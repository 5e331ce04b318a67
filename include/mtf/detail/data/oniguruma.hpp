#pragma once
// Regular expressions as Hugging Face's library reads them, by Oniguruma, in PCRE2's words.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mtf/core/error.hpp>

namespace mtf::detail {

/// Unicode's White_Space, which is what \s means to the field's tokenizers; PCRE2's has U+180E besides.
inline constexpr std::string_view white_space =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
/// Oniguruma's \w: PCRE2's has no marks, and numbers that are no digits.
inline constexpr std::string_view word_letters = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
/// Outside of sets Oniguruma's \w has them besides, superscripts and fractions of Latin-1.
inline constexpr std::string_view latin_numbers = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
inline constexpr std::string_view hex_digits = "0-9A-Fa-f";

/// Translates a pattern: what means the same in both stays as it is; what does not is said otherwise, or refused by
/// name as a user_error. (Oniguruma's syntax: its doc/RE. A class is a set, with unions and intersections inside; ^ and
/// $ are at lines; a count and then + is a repetition of it.)
class oniguruma_to_pcre2 {
 public:
  /// `what` names the pattern in errors.
  static std::string of(std::string_view pattern, std::string const& what) {
    oniguruma_to_pcre2 t(pattern, what);
    t.all();
    return std::move(t.out_);
  }

 private:
  oniguruma_to_pcre2(std::string_view pattern, std::string const& what) : in_(pattern), what_(&what) {}

  static constexpr auto none = std::string::npos;
  [[noreturn]] void refuse(std::string const& construct) const {
    throw user_error(*what_ + ": the pattern has " + construct +
                     ", which PCRE2 reads otherwise than the library that made it: it is not read");
  }
  [[nodiscard]] bool more() const { return at_ < in_.size(); }
  [[nodiscard]] bool next_is(std::string_view text) const { return in_.substr(at_).starts_with(text); }
  bool take(std::string_view text) {
    if (!next_is(text)) return false;
    at_ += text.size();
    return true;
  }
  void atom(std::string_view text) {
    atom_ = out_.size();
    out_ += text;
  }

  void all() {
    while (more()) {
      char const c = in_[at_];
      if (c == '\\') {
        atom(escape());
      } else if (c == '[') {
        ++at_;
        atom(set());
      } else if (c == '(') {
        open();
      } else if (c == ')') {
        ++at_;
        out_ += ')';
        atom_ = none;
        if (!groups_.empty()) {
          atom_ = groups_.back();
          groups_.pop_back();
        }
      } else if (c == '*' || c == '+' || c == '?') {
        quantifier();
      } else if (c == '{') {
        interval();
      } else if (take("^")) {
        atom(R"((?:\A|(?<=\n)(?!\z)))");
      } else if (take("$")) {
        atom(R"((?=\n|\z))");
      } else if (take("|")) {
        out_ += '|';
        atom_ = none;
      } else {
        atom(letter());
      }
    }
  }
  /// One character, of one to four bytes.
  std::string_view letter() {
    auto const first = at_++;
    while (more() && (static_cast<unsigned char>(in_[at_]) & 0xc0U) == 0x80U) ++at_;
    return in_.substr(first, at_ - first);
  }

  void open() {
    auto const begin = out_.size();
    ++at_;
    out_ += '(';
    if (take("?")) {
      out_ += '?';
      if (take("#")) {
        out_.resize(begin);
        at_ = std::min(in_.find(')', at_), in_.size() - 1) + 1;
        return;
      }
      for (auto const* kind : {":", "=", "!", ">", "<=", "<!"})
        if (take(kind)) {
          out_ += kind;
          groups_.push_back(begin);
          atom_ = none;
          return;
        }
      if (take("<")) {
        out_ += '<';
      } else {
        bool whole = false;
        for (; more() && in_[at_] != ':' && in_[at_] != ')'; ++at_) {
          char const flag = in_[at_];
          if (flag != 'i' && flag != 'm' && flag != 'x' && flag != '-')
            refuse("the group (?" + std::string(letter()) + "...)");
          out_ += flag == 'm' ? 's' : flag;  // a dot is any character
        }
        whole = next_is(")");
        out_ += in_.substr(at_, 1);
        ++at_;
        atom_ = none;
        if (!whole) groups_.push_back(begin);
        return;
      }
    }
    groups_.push_back(begin);
    atom_ = none;
  }

  void quantifier() {
    out_ += in_[at_++];
    if (more() && (in_[at_] == '?' || in_[at_] == '+')) out_ += in_[at_++];  // reluctant, possessive: alike
    again();
  }
  void interval() {
    auto const end = in_.find('}', at_);
    auto const body = end == none ? std::string_view() : in_.substr(at_ + 1, end - at_ - 1);
    bool const counts = !body.empty() && body.find_first_not_of("0123456789,") == none &&
                        body.find_first_of("0123456789") != none && body.find(',') == body.rfind(',');
    if (!counts || atom_ == none) {
      ++at_;
      return atom("\\{");
    }
    at_ = end + 1;
    out_ += "{" + std::string(body.front() == ',' ? "0" : "") + std::string(body) + "}";
    if (next_is("?") && body.find(',') == none) refuse("{" + std::string(body) + "}?");
    if (take("?")) out_ += '?';
    again();
  }
  /// What is repeated once more is a group.
  void again() {
    if (more() && (in_[at_] == '*' || in_[at_] == '+' || in_[at_] == '?' || in_[at_] == '{') && atom_ != none) {
      out_.insert(atom_, "(?:");
      out_ += ')';
    }
  }

  static std::string in_set(std::string_view body) { return "[" + std::string(body) + "]"; }
  static std::string not_in_set(std::string_view body) { return "[^" + std::string(body) + "]"; }

  /// What stands for one character, in a set or not: a set's body; empty if it is none.
  std::string body_of(char letter) const {
    switch (letter) {
      case 's':
        return std::string(white_space);
      case 'd':
        return R"(\p{Nd})";
      case 'w':
        return std::string(word_letters);
      case 'h':
        return std::string(hex_digits);
      default:
        return {};
    }
  }
  /// An escape outside of sets.
  std::string escape() {
    if (at_ + 1 >= in_.size()) refuse("a \\ at its end");
    char const c = in_[at_ + 1];
    auto const words = std::string(word_letters) + std::string(latin_numbers);
    auto const w = in_set(words);
    if (c == 'w') return at_ += 2, w;
    if (c == 'W') return at_ += 2, not_in_set(words);
    if (auto const body = body_of(c); !body.empty()) return at_ += 2, in_set(body);
    if (auto const body = body_of(static_cast<char>(c | 0x20)); !body.empty() && c >= 'A' && c <= 'Z')
      return at_ += 2, not_in_set(body);
    switch (c) {
      case 'b':
        return at_ += 2, "(?:(?<=" + w + ")(?!" + w + ")|(?<!" + w + ")(?=" + w + "))";
      case 'B':
        return at_ += 2, "(?:(?<=" + w + ")(?=" + w + ")|(?<!" + w + ")(?!" + w + "))";
      case 'Z':
        return at_ += 2, R"((?=\n?\z))";
      case 'R':
        return at_ += 2, R"((?>\r\n|[\n-\r\x{85}\x{2028}\x{2029}]))";
      case 'N':
        return at_ += 2, R"([^\n])";
      case 'O':
        return at_ += 2, "(?s:.)";
      case 'A':
      case 'z':
        return at_ += 2, std::string{'\\', c};
      default:
        return character();
    }
  }
  /// An escape that is one character, or one of a property, alike in sets and outside.
  std::string character() {
    char const c = in_[at_ + 1];
    at_ += 2;
    switch (c) {
      case 'p':
      case 'P':
      case 'x': {
        auto const end = in_.find('}', at_);
        if (!next_is("{")) {
          if (c != 'x') refuse(std::string("\\") + c + " without braces");
          return "\\x";
        }
        if (end == none) refuse("a { without its }");
        auto name = in_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        std::string const opened = std::string{'\\', c} + "{";
        if (c == 'x') return opened + std::string(name) + "}";
        auto const negated = name.starts_with('^');
        if (negated) name.remove_prefix(1);
        return opened + (negated ? "^" : "") + (is_script(name) ? "sc:" : "") + std::string(name) + "}";
      }
      case 'u': {
        auto const digits = in_.substr(at_, 4);
        if (digits.size() < 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != none)
          refuse("\\u without four digits");
        at_ += 4;
        return "\\x{" + std::string(digits) + "}";
      }
      case 'v':
        return R"(\x{b})";
      case 'a':
      case 'e':
      case 'f':
      case 'n':
      case 'r':
      case 't':
        return {'\\', c};
      default:
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) refuse(std::string("\\") + c);
        if (static_cast<unsigned char>(c) >= 0x80) {
          --at_;
          return std::string(letter());
        }
        return {'\\', c};
    }
  }

  /// Whether a property is one of scripts: by the name alone PCRE2 takes what a script shares with others too.
  static bool is_script(std::string_view name) {
    constexpr std::array<std::string_view, 10> others{"Any",         "Alphabetic", "Uppercase", "Lowercase",
                                                      "White_Space", "Hex_Digit",  "Emoji",     "Ideographic",
                                                      "Math",        "Dash"};
    return name.size() > 2 && std::find(others.begin(), others.end(), name) == others.end();
  }

  /// A set, behind its [: PCRE2's expression for one of its characters. Its sets inside are alternatives, its
  /// intersections looked ahead for.
  std::string set() {
    struct operand {
      std::string body;
      std::vector<std::string> others;
      [[nodiscard]] std::string text() const {
        if (others.empty()) return in_set(body);
        std::string all = body.empty() ? "" : in_set(body);
        for (auto const& o : others) all += (all.empty() ? "" : "|") + o;
        return "(?:" + all + ")";
      }
    };
    bool const negated = take("^");
    std::vector<operand> operands(1);
    for (bool first = true;; first = false) {
      auto& now = operands.back();
      if (!more()) refuse("a [ without its ]");
      if (!first && take("]")) break;
      if (take("&&")) {
        operands.emplace_back();
      } else if (next_is("[:") && in_.find(":]", at_) != none) {
        posix(now.body, now.others);
      } else if (take("[")) {
        now.others.push_back(set());
      } else if (in_[at_] == '\\') {
        if (at_ + 1 >= in_.size()) refuse("a \\ at its end");
        char const c = in_[at_ + 1];
        if (auto const body = body_of(c); !body.empty()) {
          now.body += body;
          at_ += 2;
        } else if (auto const upper = body_of(static_cast<char>(c | 0x20)); !upper.empty() && c >= 'A' && c <= 'Z') {
          now.others.push_back(not_in_set(upper));
          at_ += 2;
        } else if (c == 'b') {
          now.body += R"(\x{8})";
          at_ += 2;
        } else {
          now.body += character();
        }
      } else {
        auto const one = letter();
        now.body += (one == "]" || one == "^" ? "\\" : "") + std::string(one);
      }
    }
    if (operands.size() == 1 && operands[0].others.empty())
      return negated ? not_in_set(operands[0].body) : in_set(operands[0].body);
    std::string all;
    for (std::size_t i = 0; i < operands.size(); ++i)
      all += i + 1 < operands.size() ? "(?=" + operands[i].text() + ")" : operands[i].text();
    return negated ? "(?:(?!" + all + ")(?s:.))" : "(?:" + all + ")";
  }
  /// (Others change with Unicode's versions, or are Oniguruma's own.)
  void posix(std::string& body, std::vector<std::string>& others) {
    auto const end = in_.find(":]", at_);
    auto name = in_.substr(at_ + 2, end - at_ - 2);
    bool const negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    std::string const is = name == "digit"    ? R"(\p{Nd})"
                           : name == "upper"  ? R"(\p{Uppercase})"
                           : name == "space"  ? std::string(white_space)
                           : name == "word"   ? std::string(word_letters)
                           : name == "xdigit" ? std::string(hex_digits)
                                              : "";
    if (is.empty()) refuse("[:" + std::string(name) + ":]");
    at_ = end + 2;
    if (negated)
      others.push_back(not_in_set(is));
    else
      body += is;
  }

  std::string_view in_;
  std::string const* what_;
  std::size_t at_ = 0;
  std::string out_;
  std::size_t atom_ = none;  // where what a quantifier repeats begins in out_
  std::vector<std::size_t> groups_;
};

}  // namespace mtf::detail
