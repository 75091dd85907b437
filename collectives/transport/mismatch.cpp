#include "collectives/transport/mismatch.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <sstream>
#include <utility>

namespace stretto::runtime {
namespace {

using Value = std::function<std::string(const Descriptor &)>;

std::string number(int64_t value) { return std::to_string(value); }

std::string hexadecimal(uint64_t value) {
    char text[32];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    return text;
}

std::string mxcsr(uint32_t value) {
    std::string text = hexadecimal(value);
    if (value & 0x8000) text += " (flush to zero)";
    if (value & 0x0040) text += " (denormals are zero)";
    static const char *const rounding[] = {"", " (rounding down)", " (rounding up)", " (rounding to zero)"};
    return text + rounding[value >> 13 & 3];
}

// "rank 1 has 5, ranks 0, 2-3 have 4", the smallest group first; empty when all ranks have the same.
std::string compare(const std::vector<std::string> &values) {
    std::vector<std::pair<std::string, std::vector<int>>> groups;
    for (int r = 0; r < int(values.size()); r++) {
        const std::string &text = values[size_t(r)];
        size_t g = 0;
        while (g < groups.size() && groups[g].first != text) g++;
        if (g == groups.size()) groups.push_back({text, {}});
        groups[g].second.push_back(r);
    }
    if (groups.size() == 1) return "";
    std::stable_sort(groups.begin(), groups.end(),
                     [](auto &a, auto &b) { return a.second.size() < b.second.size(); });
    std::string result;
    for (auto &[text, members] : groups) {
        if (!result.empty()) result += ", ";
        result += rank_list(members) + (members.size() == 1 ? " has " : " have ") + text;
    }
    return result;
}

std::string compare(const std::vector<const Descriptor *> &ranks, const Value &value) {
    std::vector<std::string> values;
    for (const Descriptor *d : ranks) values.push_back(value(*d));
    return compare(values);
}

// Without indentation and columns.
std::string squeezed(const std::string &line) {
    std::string text;
    std::istringstream words(line);
    for (std::string word; words >> word;) text += (text.empty() ? "" : " ") + word;
    return text;
}

// Long lines from a little before they differ.
void cut(std::vector<std::string> &lines) {
    constexpr size_t before = 40, most = 200;
    size_t same = lines[0].size();
    for (auto &l : lines) {
        const auto differ = std::mismatch(l.begin(), l.end(), lines[0].begin(), lines[0].end()).first;
        same = std::min(same, size_t(differ - l.begin()));
    }
    for (auto &l : lines) {
        if (same > 2 * before) l = "..." + l.substr(same - before);
        if (l.size() > most) l = l.substr(0, most) + "...";
    }
}

// Of the first line in which the programs differ; empty if they do not.
std::string compare_lines(const std::vector<std::string> &programs) {
    std::vector<std::istringstream> texts(programs.begin(), programs.end());
    std::vector<std::string> lines(programs.size());
    for (bool more = !programs.empty(); more;) {
        more = false;
        for (size_t r = 0; r < texts.size(); r++) {
            const bool has = bool(std::getline(texts[r], lines[r]));
            more |= has;
            lines[r] = has ? squeezed(lines[r]) : "";
        }
        if (compare(lines).empty()) continue;
        cut(lines);
        for (auto &l : lines) l = l.empty() ? "nothing there" : "`" + l + "`";
        return compare(lines);
    }
    return "";
}

std::string name_of(const Descriptor &d) { return std::string(d.name, strnlen(d.name, sizeof d.name)); }

}  // namespace

std::string place_text(const Descriptor &call, int barriers) {
    std::string text = "call " + std::to_string(call.sequence) + " (" + name_of(call) + ")";
    return barriers ? text + ", barrier " + std::to_string(barriers) : text;
}

std::string numbering_text(const std::vector<int> &members, int world_ranks) {
    bool all = int(members.size()) == world_ranks && std::is_sorted(members.begin(), members.end());
    return all ? "" : " (in a communicator of the world's " + rank_list(members) + ")";
}

std::vector<int> all_ranks(int ranks) {
    std::vector<int> list(static_cast<size_t>(ranks));
    std::iota(list.begin(), list.end(), 0);
    return list;
}

std::string rank_list(const std::vector<int> &ranks) {
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (size_t i = 0; i < ranks.size();) {
        size_t end = i + 1;
        while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) end++;
        if (i) text += ", ";
        text += std::to_string(ranks[i]);
        if (end - i == 2) text += ", " + std::to_string(ranks[i + 1]);
        if (end - i > 2) text += "-" + std::to_string(ranks[end - 1]);
        i = end;
    }
    return text;
}

bool differ_in_program(const std::vector<const Descriptor *> &ranks) {
    return compare(ranks, name_of).empty() && !compare(ranks, [](auto &d) { return hexadecimal(d.program); }).empty();
}

std::string program_text(const CallNames *names) {
    return names ? names->program().substr(0, most_program_text) : "";
}

std::string mismatch_text(const std::vector<const Descriptor *> &ranks, const CallNames *names,
                          const std::vector<std::string> &programs) {
    std::string in = " of " + name_of(*ranks[0]) + ": ", found;
    auto differ = [&](const Value &value) { return !(found = compare(ranks, value)).empty(); };

    if (differ(name_of)) return "ranks differ in what they call: " + found;
    if (differ([](const Descriptor &d) { return hexadecimal(d.program); })) {
        const std::string lines = compare_lines(programs);
        return "ranks differ in the compiled program" + in + (lines.empty() ? found + " as its hash" : lines);
    }
    if (differ([](const Descriptor &d) { return number(d.sequence); })) {
        return "ranks differ in the number of calls made before this one" + in + found;
    }
    if (differ([](const Descriptor &d) { return number(d.size_count); })) {
        return "ranks differ in the number of sizes" + in + found;
    }
    for (int i = 0; i < ranks[0]->size_count && i < 8; i++) {
        if (differ([i](const Descriptor &d) { return number(int64_t(d.sizes[i])); })) {
            return "ranks differ in size " + names->sizes[size_t(i)] + in + found;
        }
    }
    if (differ([](const Descriptor &d) { return number(d.scalar_count); })) {
        return "ranks differ in the number of scalars" + in + found;
    }
    for (int i = 0; i < ranks[0]->scalar_count && i < 16; i++) {
        auto text = [i, names](const Descriptor &d) { return names->value(i, d.scalars[i]); };
        // Bits are compared: values of one text, as NaNs, differ in those.
        if (differ([i](const Descriptor &d) { return hexadecimal(d.scalars[i]); })) {
            if (std::string values = compare(ranks, text); !values.empty()) found = values;
            return "ranks differ in scalar " + names->scalars[size_t(i)] + in + found;
        }
    }
    if (differ([](const Descriptor &d) { return mxcsr(d.mxcsr); })) {
        return "ranks differ in the floating-point mode (MXCSR)" + in + found;
    }
    differ([](const Descriptor &d) { return hexadecimal(d.hash); });
    return "ranks differ in a size after the eighth or a scalar after the sixteenth" + in + found +
           " as the call's hash";
}

}  // namespace stretto::runtime
