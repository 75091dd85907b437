// The text form of schedules.
//
//     schedule:  lines, each empty or one call; '#' begins a comment
//     call:      [name "," name "="] verb "(" [term {"," term}] ")"       the names on the left: what split makes
//     term:      name | number | "{" [name {"," name}] "}"
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

struct Term {
    enum Kind { Name,
                Number,
                Set };
    Kind kind = Name;
    Token token;             // of a set its '{'
    std::vector<Token> set;  // its members
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

    // Reads the fields of a verb from the terms that were written.
    struct Reader {
        const Parser &p;
        const Token &verb;
        const std::vector<Term> &terms;
        const std::string usage;
        const Place end;
        size_t next = 0;

        // The next term, null if it is left out.
        const Term *take(Term::Kind kind, bool left_out = false) {
            static const char *kinds[] = {"a name", "a number", "a set"};
            if (next == terms.size()) {
                if (!left_out) p.fail(end, verb.text + " takes " + kinds[kind] + " here.", "Legal: " + usage);
                return nullptr;
            }
            const Term &t = terms[next++];
            if (t.kind != kind)
                p.fail(t.token.at, verb.text + " takes " + kinds[kind] + " here, not " + kinds[t.kind] + ".", "Legal: " + usage);
            return &t;
        }
        void tensor(const char *, NodeId &id) { id = p.node(take(Term::Name)->token); }
        void tensors(const char *, NodeIds &ids) {
            for (auto &name : take(Term::Set)->set) ids.push_back(p.node(name));
        }
        void argument(const char *, ArgumentId &a) { a = p.argument(take(Term::Name)->token); }
        void number(const char *, int &n, bool left_out = false) {
            const Term *t = take(Term::Number, left_out);
            if (!t) return;
            if (t->token.text == "-" || t->token.text.size() > 9)
                p.fail(t->token.at, "'" + t->token.text + "' is not a small whole number.", "Legal: 0 to 999999999");
            n = std::stoi(t->token.text);
        }
        void algorithm(const char *, Algorithm &a) { a = p.algorithm(take(Term::Name)->token); }
    };

    NodeId node(const Token &t) const {
        const Node *n = s.graph().find(t.text);
        if (n && !is_part(s.graph(), *n)) return n->id;
        fail(t.at, "no tensor is called " + t.text + ".", legal_names(t.text, node_names(s.graph())));
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
    Verb verb_called(const Token &name) const {
        Names names;
        for (auto &v : all_verbs()) {
            if (name_of(v) == name.text) return v;
            names.push_back(name_of(v));
        }
        fail(name.at, "no verb is called " + name.text + ".", legal_names(name.text, names));
    }

    // What stands on the left are the names of what the verb makes.
    void check_left(const std::vector<Token> &left, const Token &name, const Verb &v, const std::string &usage) const {
        Names made;
        for (Role role : made_by(v).roles) {
            Node n;
            n.origin = {role, made_by(v).of, 0};
            made.push_back(s.graph().name_from(n));
        }
        for (size_t i = 0; i < left.size(); i++) {
            if (i >= made.size())
                fail(left[i].at, name.text + " makes nothing of the name " + left[i].text + ".",
                     "Legal: " + (made.empty() ? usage : join(made) + " = " + usage));
            if (left[i].text != made[i]) fail(left[i].at, name.text + " calls this " + made[i] + ".", "Legal: " + join(made));
        }
        if (!left.empty() && left.size() < made.size())
            fail(left.back().at, name.text + " makes two tensors.", "Legal: " + join(made));
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
        Verb v = verb_called(verb);
        expect(Token::Mark, "'('", "(");
        std::vector<Term> terms;
        while (!at(")")) {
            if (!terms.empty()) expect(Token::Mark, "',' or ')'", ",");
            terms.push_back(term());
        }
        Token close = take();
        if (peek().kind != Token::End) fail(peek().at, "there is more after the verb.", "Legal: one verb a line");

        Reader reader{*this, verb, terms, Usage()(v), close.at};
        std::visit([&](auto &fields) { fields.fields(fields, reader); }, v);
        if (reader.next < terms.size())
            fail(terms[reader.next].token.at, verb.text + " takes no argument here.", "Legal: " + reader.usage);
        check_left(left, verb, v, reader.usage);
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
