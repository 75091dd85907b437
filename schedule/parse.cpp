// The text form of schedules.
//
//     schedule:  lines, each empty or one call; '#' begins a comment
//     call:      [name "," name "="] verb "(" [term {"," term}] ")"       the names on the left: what split makes
//     term:      name | number | "{" [name {"," name}] "}"
//     name:      [A-Za-z_][A-Za-z0-9_.]*
#include "schedule/refuse.h"
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

struct Term {
    enum Kind { Name,
                Number,
                Set };
    Kind kind = Name;
    Token token;             // of a set its '{'
    std::vector<Token> set;  // its members
};

struct Signature {
    const char *verb, *usage;
    std::vector<Term::Kind> terms;
    int optional;  // so many of the last terms may be left out
};

const std::vector<Signature> &signatures() {
    static const std::vector<Signature> all = {
        {"split", "split(tensor, dim)", {Term::Name, Term::Number}, 1},
        {"reorder", "reorder(gather, {tensors})", {Term::Name, Term::Set}, 0},
        {"slice", "slice(tensor, dim)", {Term::Name, Term::Number}, 1},
        {"as_slice", "as_slice(argument)", {Term::Name}, 0},
        {"fuse", "fuse({tensors})", {Term::Set}, 0},
        {"fuse_all", "fuse_all()", {}, 0},
        {"collective", "collective(tensor, OneShot)", {Term::Name, Term::Name}, 0},
        {"vectorize", "vectorize(tensor, lanes)", {Term::Name, Term::Number}, 0},
    };
    return all;
}

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
                lines.back() += c == '\t' ? ' ' : c;
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

    const Token &peek() const {
        return tokens[next];
    }
    bool at(const char *mark) const {
        return peek().kind == Token::Mark && peek().text == mark;
    }
    Token take() {
        return tokens[next++];
    }
    static std::string shown(const Token &t) {
        return t.kind == Token::End ? "the line ends here" : "here is '" + t.text + "'";
    }
    Token expect(Token::Kind kind, const std::string &what, const std::string &mark = "") {
        if (peek().kind != kind || (!mark.empty() && peek().text != mark))
            fail(peek().at, shown(peek()) + ", and not " + what + ".", "Legal: " + what);
        return take();
    }

    Term term() {
        Term t;
        t.token = peek();
        if (at("{")) {
            t.kind = Term::Set;
            take();
            while (!at("}")) {
                if (!t.set.empty()) expect(Token::Mark, "',' or '}'", ",");
                t.set.push_back(expect(Token::Name, "a tensor"));
            }
            take();
        } else if (peek().kind == Token::Number) {
            t.kind = Term::Number;
            take();
        } else {
            expect(Token::Name, "a tensor, a number or {tensors}");
        }
        return t;
    }

    NodeId node(const Token &t) const {
        if (const Node *n = find_node(s.graph(), t.text)) return n->id;
        fail(t.at, "no tensor is called " + t.text + ".", legal_names(t.text, node_names(s.graph())));
    }
    NodeIds nodes(const Term &t) const {
        NodeIds ids;
        for (auto &name : t.set) ids.push_back(node(name));
        return ids;
    }
    ArgumentId argument(const Token &t) const {
        auto &all = s.graph().arguments;
        for (size_t a = 0; a < all.size(); a++)
            if (all[a].name == t.text && !all[a].scalar) return ArgumentId(a);
        fail(t.at, "no tensor argument is called " + t.text + ".", legal_names(t.text, tensor_arguments(s.graph())));
    }
    Algorithm algorithm(const Token &t) const {
        Names names;
        for (auto &[name, a] : algorithm_names()) {
            if (name == t.text) return a;
            names.push_back(name);
        }
        fail(t.at, "no algorithm is called " + t.text + ".", legal_names(t.text, names));
    }
    int number(const std::vector<Term> &terms, size_t i) const {
        if (i >= terms.size()) return 0;
        const Token &t = terms[i].token;
        if (t.text == "-" || t.text.size() > 9)
            fail(t.at, "'" + t.text + "' is not a small whole number.", "Legal: 0 to 999999999");
        return std::stoi(t.text);
    }

    const Signature &signature(const Token &verb) const {
        Names names;
        for (auto &x : signatures()) {
            if (verb.text == x.verb) return x;
            names.push_back(x.verb);
        }
        fail(verb.at, "no verb is called " + verb.text + ".", legal_names(verb.text, names));
    }

    void check(const Signature &x, const Token &verb, const std::vector<Term> &terms, const Place &end) const {
        std::string legal = std::string("Legal: ") + x.usage;
        static const char *kinds[] = {"a name", "a number", "a set"};
        for (size_t i = 0; i < terms.size(); i++) {
            if (i >= x.terms.size()) fail(terms[i].token.at, verb.text + " takes no argument here.", legal);
            if (terms[i].kind != x.terms[i])
                fail(terms[i].token.at, verb.text + " takes " + kinds[x.terms[i]] + " here, not " + kinds[terms[i].kind] + ".",
                     legal);
        }
        if (terms.size() + x.optional < x.terms.size())
            fail(end, verb.text + " takes " + kinds[x.terms[terms.size()]] + " here.", legal);
    }

    Verb make(const std::string &verb, const std::vector<Term> &t) const {
        if (verb == "split") return Split{node(t[0].token), number(t, 1)};
        if (verb == "reorder") return Reorder{node(t[0].token), nodes(t[1])};
        if (verb == "slice") return Slice{node(t[0].token), number(t, 1)};
        if (verb == "as_slice") return AsSlice{argument(t[0].token)};
        if (verb == "fuse") return Fuse{nodes(t[0])};
        if (verb == "collective") return Collective{node(t[0].token), algorithm(t[1].token)};
        if (verb == "vectorize") return Vectorize{node(t[0].token), number(t, 1)};
        return FuseAll{};
    }

    void line() {
        std::vector<Token> left;
        Token verb = expect(Token::Name, "a verb");
        if (at(",") || at("=")) {
            left.push_back(verb);
            while (at(",")) {
                take();
                left.push_back(expect(Token::Name, "a name"));
            }
            expect(Token::Mark, "'='", "=");
            verb = expect(Token::Name, "a verb");
        }
        const Signature &x = signature(verb);
        expect(Token::Mark, "'('", "(");
        std::vector<Term> terms;
        while (!at(")")) {
            if (!terms.empty()) expect(Token::Mark, "',' or ')'", ",");
            terms.push_back(term());
        }
        Token close = take();
        if (peek().kind != Token::End) fail(peek().at, "there is more after the verb.", "Legal: one verb a line");
        check(x, verb, terms, close.at);

        Verb v = make(verb.text, terms);
        Names made;
        if (auto *split = std::get_if<Split>(&v)) {
            const std::string &name = s.graph().at(split->tensor).name;
            made = {name + ".rs", name + ".ag"};
        }
        for (size_t i = 0; i < left.size(); i++) {
            if (i >= made.size())
                fail(left[i].at, verb.text + " makes nothing of the name " + left[i].text + ".",
                     "Legal: " + std::string(made.empty() ? x.usage : join(made) + " = " + x.usage));
            if (left[i].text != made[i]) fail(left[i].at, verb.text + " calls this " + made[i] + ".", "Legal: " + join(made));
        }
        if (!left.empty() && left.size() < made.size())
            fail(left.back().at, verb.text + " makes two tensors.", "Legal: " + join(made));
        s.add(v, where(verb.at));
    }

public:
    Parser(const std::string &text, Schedule &s) : text(text), s(s) {
    }

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
