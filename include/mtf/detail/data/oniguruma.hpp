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
#include <mtf/detail/data/character_sets.hpp>

namespace mtf::detail {

/// Translates a pattern: what means the same in both stays as it is; what does not is said otherwise, or refused by
/// name as a user_error. (Oniguruma's syntax: its doc/RE. A class is a set, with unions and intersections inside; ^ and
/// $ are at lines; a count and then + is a repetition of it.)
class oniguruma_to_pcre2 {
 public:
  /// `what` names the pattern in errors.
  static std::string of(std::string_view pattern, std::string const& what) {
    oniguruma_to_pcre2 t(pattern, what);
    t.all();
    t.out_.append(t.now_.isolated, ')');
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
    if (code_ == none) before_ = none;
  }
  /// What follows is this character. Where case does not count, Oniguruma takes some for two or three others: ß for ss.
  void character_is(std::size_t code) {
    code_ = code;
    if (!now_.folds) return;
    constexpr std::array<std::pair<std::size_t, std::size_t>, 12> several{{{0xdf, 0xdf},
                                                                           {0x130, 0x131},
                                                                           {0x149, 0x149},
                                                                           {0x1f0, 0x1f0},
                                                                           {0x2bc, 0x2be},
                                                                           {0x300, 0x3ff},
                                                                           {0x531, 0x587},
                                                                           {0x1e96, 0x1e9e},
                                                                           {0x1f00, 0x1fff},
                                                                           {0xfb00, 0xfb17},
                                                                           {0x17f, 0x17f},
                                                                           {0x110000, none}}};
    for (auto const& [first, last] : several)
      if (code >= first && code <= last) refuse("(?i) about a letter that may be several");
    auto const small = code >= 'A' && code <= 'Z' ? code + 32 : code;
    if (before_ != none &&
        std::string_view("ss ff fi fl st").find(std::string{static_cast<char>(before_), static_cast<char>(small)}) !=
            none &&
        small < 0x80)
      refuse("(?i) about a letter that may be several");
    before_ = small < 0x80 && small != ' ' ? small : none;
  }

  void all() {
    while (more()) {
      char const c = in_[at_];
      code_ = none;
      if (c != '*' && c != '+' && c != '?' && c != '{') any_ = next_is("\\O") || (c == '.' && now_.dots);
      if (c == '\\') {
        atom(escape());
      } else if (c == '[') {
        ++at_;
        atom(set());
      } else if (c == '(') {
        open();
      } else if (c == ')') {
        ++at_;
        out_.append(now_.isolated + 1, ')');
        atom_ = none;
        if (!groups_.empty()) {
          atom_ = now_.begin;
          now_ = groups_.back();
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
        atom_ = before_ = none;
      } else {
        atom(letter());
      }
    }
  }
  /// One character, of one to four bytes.
  std::string_view letter() {
    auto const first = at_++;
    while (more() && (static_cast<unsigned char>(in_[at_]) & 0xc0U) == 0x80U) ++at_;
    auto const bytes = in_.substr(first, at_ - first);
    std::size_t code = static_cast<unsigned char>(bytes[0]);
    if (code >= 0x80) code &= 0x7fU >> bytes.size();
    for (auto const b : bytes.substr(1)) code = code << 6U | (static_cast<unsigned char>(b) & 0x3fU);
    character_is(code);
    return bytes;
  }

  /// A group, of which what opens it stands from `begin` on.
  void group(std::size_t begin) {
    groups_.push_back(now_);
    now_.begin = begin;
    now_.isolated = 0;
    atom_ = none;
  }
  void open() {
    auto const begin = out_.size();
    ++at_;
    out_ += '(';
    if (next_is("*")) refuse("(*");
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
          group(begin);
          now_.atomic = now_.atomic || std::string_view(kind) == ">";
          return;
        }
      if (take("<")) {
        out_ += '<';
      } else {
        bool folds = now_.folds, dots = now_.dots;
        for (bool on = true; more() && in_[at_] != ':' && in_[at_] != ')'; ++at_) {
          char const flag = in_[at_];
          if (flag != 'i' && flag != 'm' && flag != '-') refuse("the group (?" + std::string(letter()) + "...)");
          if (flag == '-') on = false;
          if (flag == 'i') folds = on;
          if (flag == 'm') dots = on;
          out_ += flag == 'm' ? 's' : flag;  // a dot is any character
        }
        out_ += ':';
        if (next_is(")"))
          ++now_.isolated, atom_ = none;  // to the end of the group around it, alternatives included
        else
          group(begin);
        now_.folds = folds;
        now_.dots = dots;
        ++at_;
        return;
      }
    }
    group(begin);
  }

  void quantifier() {
    before_ = none;
    bool const all = any_ && in_[at_] != '?';
    out_ += in_[at_++];
    if (all && !next_is("?")) refuse("a repetition of any character, ends of lines included");
    reluctant();
    if (take("+")) out_ += '+';  // possessive
    again();
  }
  /// The ? behind a quantifier. In (?>...) PCRE2's compiled code gives it another meaning than its own interpreter.
  void reluctant() {
    if (!take("?")) return;
    if (now_.atomic) refuse("a reluctant repetition in (?>...)");
    out_ += '?';
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
    before_ = none;
    out_ += "{" + std::string(body.front() == ',' ? "0" : "") + std::string(body) + "}";
    if (any_ && body.ends_with(',') && !next_is("?")) refuse("a repetition of any character, ends of lines included");
    if (body.find(',') != none) reluctant();  // {2}? is maybe {2}
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

  /// An escape that stands for characters of a kind, in words of a set.
  struct kind {
    std::string body;
    bool negated = false;
    [[nodiscard]] std::string text() const { return negated ? not_in_set(body) : in_set(body); }
  };
  /// Takes one; an empty one if there is none.
  kind take_kind(bool in_a_set) {
    auto const words = std::string(word_letters) + std::string(in_a_set ? "" : latin_numbers);
    for (auto const& [letter, body] :
         {std::pair<char, std::string_view>{'s', white_space}, {'d', R"(\p{Nd})"}, {'w', words}, {'h', hex_digits}})
      for (bool const negated : {false, true})
        if (take(std::string{'\\', static_cast<char>(negated ? letter - 32 : letter)}))
          return {std::string(body), negated};
    for (auto const& [name, body] : {std::pair{"Alphabetic}", alphabetic}, {"Lowercase}", lowercase}})
      for (auto const& [begin, negated] : {std::pair{"\\p{", false}, {"\\P{", true}, {"\\p{^", true}, {"\\P{^", false}})
        if (take(std::string(begin) + name)) return {std::string(body), negated};
    return {};
  }
  /// An escape outside of sets.
  std::string escape() {
    if (at_ + 1 >= in_.size()) refuse("a \\ at its end");
    if (auto const one = take_kind(false); !one.body.empty()) return one.text();
    char const c = in_[at_ + 1];
    auto const w = in_set(std::string(word_letters) + std::string(latin_numbers));
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
  /// An escape that is one character, or one of a property, the same in sets and outside.
  std::string character() {
    char const c = in_[at_ + 1];
    at_ += 2;
    switch (c) {
      case 'p':
      case 'P': {
        if (!take("{")) refuse(std::string("\\") + c + " without braces");
        auto const end = in_.find('}', at_);
        if (end == none) refuse("a { without its }");
        auto name = in_.substr(at_, end - at_);
        at_ = end + 1;
        bool const negated = name.starts_with('^') != (c == 'P');
        if (name.starts_with('^')) name.remove_prefix(1);
        return std::string(negated ? "\\P{" : "\\p{") + (is_script(name) ? "sc:" : "") + std::string(name) + "}";
      }
      case 'x':
        if (take("{")) return hexadecimal(std::min(in_.find('}', at_), in_.size()) - at_, 1);
        return hexadecimal(2, 0);
      case 'u':
        return hexadecimal(4, 0);
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
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) refuse(std::string("\\") + c);
        --at_;
        return (static_cast<unsigned char>(c) < 0x80 ? "\\" : "") + std::string(letter());
    }
  }
  /// A character by its code, of so many digits and what ends them.
  std::string hexadecimal(std::size_t digits, std::size_t end) {
    auto const text = in_.substr(at_, digits);
    if (text.empty() || text.size() < digits || text.size() > 6 ||
        text.find_first_not_of("0123456789abcdefABCDEF") != none)
      refuse("\\x or \\u without its digits");
    at_ += digits + end;
    auto const code = std::stoul(std::string(text), nullptr, 16);
    if (digits == 2 && end == 0 && code >= 0x80) refuse("\\x" + std::string(text) + ", a byte of a letter");
    character_is(code);
    return "\\x{" + std::string(text) + "}";
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
    // Where case does not count, Oniguruma folds each set before it is a part of another.
    auto const as_it_is = [&](std::string const& construct) {
      if (now_.folds) refuse("(?i) about " + construct + " in a set");
    };
    for (bool first = true, hyphen = false;; first = false) {
      auto& now = operands.back();
      code_ = before_ = none;
      if (!more()) refuse("a [ without its ]");
      if (!first && take("]")) break;
      bool is_class = false;
      if (next_is("-[")) refuse("a - before a [ in a set");
      if (take("&&")) {
        as_it_is("&&");
        if (now.body.empty() && now.others.empty()) refuse("a side of && that is empty");
        operands.emplace_back();
      } else if (next_is("[:") && in_.find(":]", at_) != none) {
        posix(now.body, now.others);
        is_class = true;
      } else if (take("[")) {
        as_it_is("a set");
        now.others.push_back(set());
      } else if (in_[at_] == '\\') {
        if (at_ + 1 >= in_.size()) refuse("a \\ at its end");
        char const c = in_[at_ + 1];
        if (auto const one = take_kind(true); !one.body.empty()) {
          if (c != 's' && c != 'd' && c != 'h') as_it_is(std::string("\\") + c);
          if (one.negated)
            now.others.push_back(one.text());
          else
            now.body += one.body;
          is_class = true;
        } else if (c == 'b') {
          now.body += R"(\x{8})";
          at_ += 2;
        } else {
          if (c == 'p' || c == 'P') as_it_is(std::string("\\") + c);
          now.body += character();
          is_class = c == 'p' || c == 'P';
        }
      } else {
        auto const one = letter();
        now.body += (one == "]" || one == "^" ? "\\" : "") + std::string(one);
      }
      if (code_ != none && code_ >= 0x80 && (hyphen || next_is("-"))) as_it_is("a range beyond ASCII");
      hyphen = code_ == '-';
      if (is_class && next_is("-") && !next_is("-]")) refuse("a - behind a class in a set");
    }
    if (operands.back().body.empty() && operands.back().others.empty()) refuse("a side of && that is empty");
    code_ = none;
    if (operands.size() == 1 && operands[0].others.empty())
      return negated ? not_in_set(operands[0].body) : in_set(operands[0].body);
    std::string all;
    for (std::size_t i = 0; i < operands.size(); ++i)
      all += i + 1 < operands.size() ? "(?=" + operands[i].text() + ")" : operands[i].text();
    return negated ? "(?:(?!" + all + ")(?s:.))" : "(?:" + all + ")";
  }
  /// [:alpha:] and its like.
  void posix(std::string& body, std::vector<std::string>& others) {
    auto const end = in_.find(":]", at_);
    auto name = in_.substr(at_ + 2, end - at_ - 2);
    bool const negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    auto const is = posix_set(name);
    if (is.empty()) refuse("[:" + std::string(name) + ":]");
    if (now_.folds && name != "space" && name != "digit" && name != "xdigit")
      refuse("(?i) about [:" + std::string(name) + ":] in a set");
    at_ = end + 2;
    if (negated)
      others.push_back(not_in_set(is));
    else
      body += is;
  }

  /// A group that is not at its end: where it begins in out_, what counts in it, and how many (?i) in it stand as
  /// groups of their own.
  struct group_state {
    std::size_t begin = 0;
    bool folds = false;   // not case
    bool dots = false;    // are any character
    bool atomic = false;  // once left, it is not tried otherwise
    std::size_t isolated = 0;
  };

  std::string_view in_;
  std::string const* what_;
  std::size_t at_ = 0;
  std::string out_;
  std::size_t atom_ = none;    // where what a quantifier repeats begins in out_
  std::size_t code_ = none;    // the character that was read, if it was one
  std::size_t before_ = none;  // and the letter before it, where case does not count
  bool any_ = false;           // that character may be any
  group_state now_;
  std::vector<group_state> groups_;
};

}  // namespace mtf::detail
