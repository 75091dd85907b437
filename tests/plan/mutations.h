// Damage to plans where it means something: to a field, to the length of a list, to which entry is where.
#pragma once
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "collectives/plan/pack.h"
#include "collectives/plan/validate.h"
#include "flatbuffers/minireflect.h"

namespace stretto::test {

// Of one plan, found by the schema's own description: a new field of plan.fbs is among them.
class Mutations {
public:
    explicit Mutations(const plan::PlanT &p) {
        flatbuffers::FlatBufferBuilder b;
        b.ForceDefaults(true);  // every number is there
        plan::PlanT sealed(p);
        sealed.checksum = 1;
        plan::FinishPlanBuffer(b, plan::Plan::Pack(b, &sealed));
        bytes_.assign(b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize());
        table(bytes_.data() + read(0), plan::PlanTypeTable(), "");
        for (auto &site : sites_) fields_.insert(site.field);
        reseal(bytes_);
    }

    // With one to three changes, and a right checksum. *fields: what was changed.
    std::vector<uint8_t> mutated(std::mt19937 &random, std::vector<std::string> *fields) const {
        std::vector<uint8_t> bytes = bytes_;
        for (unsigned k = 1 + random() % 3 * (random() % 2); k; k--) {
            auto field = fields_.begin();  // fields, not places, are equally likely
            std::advance(field, long(random() % fields_.size()));
            std::vector<const Site *> there;
            for (auto &s : sites_)
                if (s.field == *field) there.push_back(&s);
            change(bytes, *there[random() % there.size()], there, random);
            fields->push_back(*field);
        }
        reseal(bytes);
        return bytes;
    }

    // With each pair of other values of two of the enumerations and flags of stages, one after the other: f(bytes).
    template <class F>
    void for_each_pair(F f) const {
        std::vector<std::pair<size_t, uint8_t>> values;  // where, and what there
        for (auto &s : sites_)
            for (uint8_t v = 0; s.kind == Number && s.bytes == 1 && s.field.find("stages.") == 0 && v < 4; v++)
                if (bytes_[s.at] != v) values.push_back({s.at, v});
        for (size_t i = 0; i < values.size(); i++)
            for (size_t k = i + 1; k < values.size(); k++) {
                if (values[i].first == values[k].first) continue;
                std::vector<uint8_t> bytes = bytes_;
                bytes[values[i].first] = values[i].second;
                bytes[values[k].first] = values[k].second;
                reseal(bytes);
                f(bytes);
            }
    }

    // Of any plan.
    static std::set<std::string> all_fields() {
        std::set<std::string> names;
        add_fields(plan::PlanTypeTable(), "", &names);
        return names;
    }

private:
    enum Kind { Number,
                Length,
                Entry };  // Entry: the offset of a table in a list
    struct Site {
        Kind kind;
        std::string field;
        size_t at, bytes;
    };
    std::vector<uint8_t> bytes_;
    std::vector<Site> sites_;
    std::set<std::string> fields_;

    using TypeTable = flatbuffers::TypeTable;
    using Element = flatbuffers::ElementaryType;

    static std::string path(const std::string &where, const char *name) { return where.empty() ? name : where + "." + name; }
    static const TypeTable *of(const TypeTable *type, size_t i) {
        const int ref = type->type_codes[i].sequence_ref;
        return ref >= 0 ? type->type_refs[ref]() : nullptr;
    }
    static bool is(const TypeTable *type, flatbuffers::SequenceType kind) { return type && type->st == kind; }
    uint32_t read(size_t at) const { return flatbuffers::ReadScalar<uint32_t>(bytes_.data() + at); }
    size_t place(const uint8_t *p) const { return size_t(p - bytes_.data()); }

    void table(const uint8_t *at, const TypeTable *type, const std::string &where) {
        const auto *t = reinterpret_cast<const flatbuffers::Table *>(at);
        for (size_t i = 0; i < type->num_elems; i++) {
            const uint8_t *field = t->GetAddressOf(flatbuffers::FieldIndexToOffset(flatbuffers::voffset_t(i)));
            if (!field || !strcmp(type->names[i], "checksum")) continue;
            const std::string name = path(where, type->names[i]);
            const TypeTable *its = of(type, i);
            const Element element = Element(type->type_codes[i].base_type);
            const bool text = element == flatbuffers::ET_STRING, many = type->type_codes[i].is_repeating;
            const uint8_t *target = text || many || is(its, flatbuffers::ST_TABLE) ? field + read(place(field)) : field;
            if (many) list(target, element, its, name);
            else if (text) sites_.push_back({Length, name, place(target), 1});
            else if (is(its, flatbuffers::ST_TABLE)) table(target, its, name);
            else sites_.push_back({Number, name, place(field), flatbuffers::InlineSize(element, its)});
        }
    }

    void list(const uint8_t *at, Element element, const TypeTable *its, const std::string &name) {
        const size_t n = read(place(at)), bytes = flatbuffers::InlineSize(element, its);
        sites_.push_back({Length, name, place(at), 0});
        for (size_t k = 0; k < n; k++) {
            const uint8_t *entry = at + 4 + k * bytes;
            if (is(its, flatbuffers::ST_TABLE)) {
                sites_.push_back({Entry, name, place(entry), 4});
                table(entry + read(place(entry)), its, name);
            } else if (is(its, flatbuffers::ST_STRUCT)) {
                structure(entry, its, name);
            } else {
                sites_.push_back({Number, name, place(entry), bytes});
            }
        }
    }

    void structure(const uint8_t *at, const TypeTable *type, const std::string &where) {
        for (size_t i = 0; i < type->num_elems; i++) {
            const Element element = Element(type->type_codes[i].base_type);
            const uint8_t *field = at + type->values[i];
            const TypeTable *its = of(type, i);
            if (is(its, flatbuffers::ST_STRUCT)) structure(field, its, path(where, type->names[i]));
            else sites_.push_back({Number, path(where, type->names[i]), place(field), flatbuffers::InlineSize(element, its)});
        }
    }

    static void add_fields(const TypeTable *type, const std::string &where, std::set<std::string> *names) {
        for (size_t i = 0; i < type->num_elems; i++) {
            if (!strcmp(type->names[i], "checksum")) continue;
            const std::string name = path(where, type->names[i]);
            const TypeTable *its = of(type, i);
            if (is(its, flatbuffers::ST_TABLE) || is(its, flatbuffers::ST_STRUCT)) add_fields(its, name, names);
            else names->insert(name);
        }
    }

    static void change(std::vector<uint8_t> &bytes, const Site &site, const std::vector<const Site *> &alike,
                       std::mt19937 &random) {
        uint8_t *at = bytes.data() + site.at;
        if (site.kind == Length) {  // shorter; of a text the byte that ends it stays where it was, or is put there
            const uint32_t n = flatbuffers::ReadScalar<uint32_t>(at), less = n ? random() % n : 0;
            flatbuffers::WriteScalar(at, less);
            if (site.bytes) at[4 + less] = 0;
            return;
        }
        const Site &other = *alike[random() % alike.size()];
        if (site.kind == Entry) {  // one of the same list, or of another such
            if (other.kind != Entry) return;
            const uint32_t target = uint32_t(other.at) + flatbuffers::ReadScalar<uint32_t>(bytes.data() + other.at);
            if (target > site.at) flatbuffers::WriteScalar(at, uint32_t(target - site.at));
            return;
        }
        int64_t value = 0;
        memcpy(&value, at, site.bytes);
        if (site.bytes == 4) value = int32_t(value);
        switch (random() % 8) {
        case 0: value += 1; break;
        case 1: value -= 1; break;
        case 2: value = -1; break;
        case 3: value = int64_t(random() % 2 ? INT32_MAX : INT32_MIN); break;
        case 4: memcpy(&value, bytes.data() + other.at, std::min(site.bytes, other.bytes)); break;
        default: value = int64_t(random() % 5); break;
        }
        if (site.bytes == 1) value = value == -1 ? random() % 256 : value & 15;
        memcpy(at, &value, site.bytes);
    }

    static void reseal(std::vector<uint8_t> &bytes) {
        auto *root = flatbuffers::GetMutableRoot<flatbuffers::Table>(bytes.data());
        root->SetField<uint64_t>(plan::Plan::VT_CHECKSUM, plan::checksum_of(bytes.data(), bytes.size()), 0);
    }
};

}  // namespace stretto::test
