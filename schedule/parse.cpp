// The text form of schedules.
//
//     schedule:  lines, each empty or one call; '#' begins a comment
//     call:      [name "," name "="] verb "(" [field {"," field}] ")"     the names on the left: what split makes
//     field:     name | number | "{" [name {"," name}] "}"
//     name:      [A-Za-z_][A-Za-z0-9_.]*
#include "schedule/schedule.h"

namespace stretto {

namespace {

struct Place {
    int line = 1, column = 1;
};

struct Token {
    enum Kind { Name,
                Number,
                Mark,
                End };
    Kind kind = End;
    std::string text;
    Place at;
};

// "split(tensor, dim)"
class Usage {
    Names fields;

public:
    void tensor(const char *what, NodeId) { fields.push_back(what); }
    void tensors(const char *what, const NodeIds &) { fields.push_back(std::string("{") + what + "}"); }
    void argument(const char *what, ArgumentId) { fields.push_back(what); }
    void number(const char *what, int, bool = false) { fields.push_back(what); }
    void algorithm(const char *what, Algorithm) { fields.push_back(what); }
    std::string operator()(const Verb &verb) {
        std::visit([&](auto &v) { v.fields(v, *this); }, verb);
        return name_of(verb) + "(" + join(fields) + ")";
    }
};

class Parser {
    const std::string &text;
    Schedule &s;
    std::vector<std::string> lines;
    std::vector<Token> tokens;  // of one line
    size_t next = 0;

    std::string where(const Place &p) const {
        return ", line " + std::to_string(p.line) + ", column " + std::to_string(p.column);
    }
    [[noreturn]] void fail(const Place &p, const std::string &why, const std::string &legal) const {
        throw Error("In schedule for " + s.program() + where(p) + ": " + why + "\n  " + lines[p.line - 1] + "\n  " +
                    std::string(p.column - 1, ' ') + "^\n" + legal);
    }

    void split_lines() {
        lines = {""};
        for (char c : text)
            if (c == '\n')
                lines.push_back("");
            else if (c != '\r')
                lines.back() += c == '\t' ? ' ' : c >= 0 && c < ' ' ? '?'
                                                                    : c;  // what is no text has no meaning
    }

    void scan(int number) {
        static const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_", digits = "0123456789";
        const std::string line = lines[number].substr(0, lines[number].find('#'));
        tokens.clear();
        next = 0;
        for (size_t i = 0; i < line.size();) {
            Place at{number + 1, int(i) + 1};
            auto take = [&](Token::Kind kind, const std::string &set, size_t from) {
                size_t end = std::min(line.find_first_not_of(set, from), line.size());
                tokens.push_back({kind, line.substr(i, end - i), at});
                i = end;
            };
            char c = line[i];
            if (c == ' ')
                i++;
            else if (letters.find(c) != std::string::npos)
                take(Token::Name, letters + digits + ".", i);
            else if (digits.find(c) != std::string::npos || c == '-')
                take(Token::Number, digits, i + 1);
            else if (std::string("(){},=").find(c) != std::string::npos)
                tokens.push_back({Token::Mark, std::string(1, line[i++]), at});
            else
                fail(at, std::string("'") + c + "' has no meaning in a schedule.", "Legal: names, numbers, and ( ) { } , = #");
        }
        tokens.push_back({Token::End, "", {number + 1, int(line.find_last_not_of(' ') + 2)}});
    }

    const Token &peek() const { return tokens[next]; }
    bool at(const char *mark) const { return peek().kind == Token::Mark && peek().text == mark; }
    Token take() { return tokens[next++]; }
    static std::string shown(const Token &t) {
        return t.kind == Token::End ? "the line ends here" : "here is '" + t.text + "'";
    }
    Token expect(Token::Kind kind, const std::string &what, const std::string &mark = "") {
        if (peek().kind != kind || (!mark.empty() && peek().text != mark))
            fail(peek().at, shown(peek()) + ", and not " + what + ".", "Legal: " + what);
        return take();
    }

    ArgumentId find_argument(const Token &t) const {
        auto &all = s.graph().arguments;
        for (size_t a = 0; a < all.size(); a++)
            if (all[a].name == t.text && !all[a].scalar) return ArgumentId(a);
        fail(t.at, "no tensor argument is called " + t.text + ".", legal_names(t.text, tensor_arguments(s.graph())));
    }
    NodeId find_node(const Token &t) const {
        const Node *n = s.graph().find(t.text);
        if (n && !is_part(s.graph(), *n)) return n->id;
        fail(t.at, "no tensor is called " + t.text + ".", legal_names(t.text, node_names(s.graph())));
    }
    // One of these, by its name.
    template <class T, class Name>
    const T &find(const Token &t, const char *what, const std::vector<T> &all, const Name &name) const {
        Names names;
        for (auto &x : all) {
            if (name(x) == t.text) return x;
            names.push_back(name(x));
        }
        fail(t.at, std::string("no ") + what + " is called " + t.text + ".", legal_names(t.text, names));
    }

    // ---- fields: what is written is what the verb takes here

    Token verb;
    std::string usage;
    bool first = true;

    // At the next field, which is `what`; false if it is left out.
    bool begin(const std::string &what, bool left_out = false) {
        if (at(")") && left_out) return false;
        if (at(")")) fail(peek().at, verb.text + " takes " + what + " here.", "Legal: " + usage);
        if (!first) expect(Token::Mark, "',' or ')'", ",");
        first = false;
        std::string is = "a name";
        if (peek().kind == Token::Number) is = "a number";
        if (at("{")) is = "a set";
        if (is == "a name" && peek().kind != Token::Name) expect(Token::Name, "a tensor, a number or {tensors}");
        if (is != what) fail(peek().at, verb.text + " takes " + what + " here, not " + is + ".", "Legal: " + usage);
        return true;
    }

public:
    void tensor(const char *, NodeId &id) {
        begin("a name");
        id = find_node(take());
    }
    void tensors(const char *, NodeIds &ids) {
        begin("a set");
        take();
        while (!at("}")) {
            if (!ids.empty()) expect(Token::Mark, "',' or '}'", ",");
            ids.push_back(find_node(expect(Token::Name, "a tensor")));
        }
        take();
    }
    void argument(const char *, ArgumentId &a) {
        begin("a name");
        a = find_argument(take());
    }
    void number(const char *, int &n, bool left_out = false) {
        if (!begin("a number", left_out)) return;
        const Token t = take();
        if (t.text == "-" || t.text.size() > 9)
            fail(t.at, "'" + t.text + "' is not a small whole number.", "Legal: 0 to 999999999");
        n = std::stoi(t.text);
    }
    void algorithm(const char *, Algorithm &a) {
        begin("a name");
        a = find(take(), "algorithm", algorithm_names(), [](auto &x) { return x.first; }).second;
    }

private:
    // What stands on the left are the names of what the verb makes.
    void check_left(const std::vector<Token> &left, const Verb &v) const {
        const Names made = mapped(made_by(v).roles, [&](Role role) {
            Node n;
            n.origin = {role, made_by(v).of, 0};
            return s.graph().name_from(n);
        });
        for (size_t i = 0; i < left.size(); i++) {
            if (i >= made.size())
                fail(left[i].at, verb.text + " makes nothing of the name " + left[i].text + ".",
                     "Legal: " + (made.empty() ? usage : join(made) + " = " + usage));
            if (left[i].text != made[i]) fail(left[i].at, verb.text + " calls this " + made[i] + ".", "Legal: " + join(made));
        }
        if (!left.empty() && left.size() < made.size())
            fail(left.back().at, verb.text + " makes two tensors.", "Legal: " + join(made));
    }

    void line() {
        std::vector<Token> left;
        verb = expect(Token::Name, "a verb");
        if (at(",") || at("=")) {
            left.push_back(verb);
            while (at(",")) {
                take();
                left.push_back(expect(Token::Name, "a name"));
            }
            expect(Token::Mark, "'='", "=");
            verb = expect(Token::Name, "a verb");
        }
        Verb v = find(verb, "verb", all_verbs(), [](auto &x) { return name_of(x); });
        usage = Usage()(v);
        expect(Token::Mark, "'('", "(");
        first = true;
        std::visit([&](auto &fields) { fields.fields(fields, *this); }, v);
        if (!at(")")) {
            if (!first) expect(Token::Mark, "',' or ')'", ",");
            fail(peek().at, verb.text + " takes no argument here.", "Legal: " + usage);
        }
        take();
        if (peek().kind != Token::End) fail(peek().at, "there is more after the verb.", "Legal: one verb a line");
        check_left(left, v);
        s.add(v, where(verb.at));
    }

public:
    Parser(const std::string &text, Schedule &s) : text(text), s(s) {}

    void operator()() {
        split_lines();
        for (size_t i = 0; i < lines.size(); i++) {
            scan(int(i));
            if (peek().kind != Token::End) line();
        }
    }
};

}  // namespace

Schedule Schedule::parse(const Program &p, const std::string &text) {
    Schedule s(p);
    Parser(text, s)();
    return s;
}

}  // namespace stretto
