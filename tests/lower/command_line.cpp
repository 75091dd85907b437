// The command line of generators: what it lists, writes and checks, and what it says when it cannot.
#include <stretto/stretto.h>
#include "../golden.h"
#include "command.h"
#include "lower/generator/artefact.h"

using namespace stretto;
using test::check_golden;
namespace fs = std::filesystem;
using test::command, test::contents, test::Folder, test::Outcome;

// A parameter of each type.
struct Scale : Generator<Scale> {
    GeneratorParam<Type> type{"type", f32};
    GeneratorParam<bool> square{"square", false};
    GeneratorParam<int> width{"width", 4};
    GeneratorParam<int64_t> offset{"offset", 0};
    GeneratorParam<float> by{"by", 2.0f};
    GeneratorParam<double> bias{"bias", 0.5};
    Size n{"n"};
    Var i{"i"}, j{"j"};
    Input<Tensor> x{"x", type, {n, width}, sliced(0)};
    Output<Tensor> y{"y", type, {n, width}, sliced(0)};
    void algorithm() {
        Expr e = square ? x(i, j) * x(i, j) : Expr(x(i, j));
        y(i, j) = cast(type, e * by.value() + cast<float>(Expr(bias.value())) + cast<float>(Expr(offset.value())));
    }
};
STRETTO_REGISTER_GENERATOR(Scale, scale)

// Its schedule does not fit its program.
struct Misfit : Generator<Misfit> {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    Output<Tensor> total{"total", f32, {n}};
    Tensor twice{"twice"};
    void algorithm() {
        twice(i) = g(i) * 2.0f;
        total = all_reduce(twice);
    }
    NamedSchedule wrong{"wrong", [this](Schedule &s) { s.split(twice); }};
};
STRETTO_REGISTER_GENERATOR(Misfit, misfit)

namespace {

const std::string target = "target=x86-64-linux-avx2-fma";  // goldens are the same on every machine

// What is said about each of the lines, with the folder's name taken out.
struct Refusals {
    const Folder &folder;
    std::string text;
    std::string here(std::string s) const {
        for (size_t at; (at = s.find(folder.path.string())) != std::string::npos;)
            s.replace(at, folder.path.string().size(), "FOLDER");
        return s;
    }
    void operator()(const std::string &line) {
        Outcome o = command(line);
        CHECK_MESSAGE(o.status == 1, line);
        CHECK_MESSAGE(o.out.empty(), o.out);
        CHECK_MESSAGE(!o.err.empty(), line);
        text += "$ generator " + here(line) + "\n" + here(o.err) + "\n";
    }
};

}  // namespace

TEST_CASE("without a generator: the list of them, with parameters and schedules") {
    Outcome o = command("");
    CHECK(o.status == 0);
    CHECK(o.err.empty());
    check_golden("lower/command_line_list", o.out);
    Outcome help = command("--help");
    CHECK(help.status == 0);
    for (auto &kind : emit_kinds()) CHECK_MESSAGE(help.out.find(kind) != std::string::npos, kind);
}

TEST_CASE("names that do not exist and values that do not fit") {
    Folder folder;
    Refusals refuse{folder, ""};
    std::string o = " -o " + folder.path.string() + " ";
    refuse("-g adan" + o);
    refuse("-g resnet" + o);
    refuse("-g adam schedule=fuse" + o);
    refuse("-g scale schedule=x" + o);
    refuse("-g misfit schedule=wrong" + o);
    refuse("-g adam target=x86-64-linux-avx3" + o);
    refuse("-g adam target=hots" + o);
    refuse("-g adam -e static_libary" + o);
    refuse("-g adam -e c_header,assembly" + o);
    refuse("-g adam grad_typ=float16" + o);
    refuse("-g misfit type=float16" + o);
    refuse("-g adam grad_type=float17" + o);
    refuse("-g scale square=yes" + o);
    refuse("-g scale width=4.5" + o);
    refuse("-g scale width=-1" + o);
    refuse("-g scale width=99999999999" + o);
    refuse("-g scale offset=many" + o);
    refuse("-g scale by=" + o);
    refuse("-g scale bias=1.5x" + o);
    refuse("-g scale bias" + o);
    refuse("-g scale =3" + o);
    refuse("-g scale -f not-a-name" + o);
    refuse("-g scale --wat" + o);
    refuse("-g");
    check_golden("lower/command_line_refused", refuse.text);
    CHECK(fs::is_empty(folder.path));  // nothing half-written
}

TEST_CASE("places to write to") {
    Folder folder;
    Refusals refuse{folder, ""};
    refuse("-g adam");
    refuse("-r halide");
    folder.write("file", "");
    refuse("-g adam -e graph -o " + folder.path.string() + "/file");
    refuse("-g adam -e graph -o " + folder.path.string() + "/file/below");
    refuse("-r halide -o " + folder.path.string() + "/file");
    check_golden("lower/command_line_folders", refuse.text);
    Outcome o = command("-g adam -e graph -o " + folder.path.string() + "/a/b");  // folders are made
    CHECK(o.err == "");
    CHECK(fs::exists(folder.path / "a/b/adam.graph"));
}

TEST_CASE("numbers of ranks to check on") {
    Folder folder;
    Refusals refuse{folder, ""};
    for (std::string list : {"two", "0", "1,-2", "1,,2", "65", "1,2x", ",", "99999999999"})
        refuse("-g scale --check " + list);
    refuse("-g scale --check");
    check_golden("lower/command_line_check_refused", refuse.text);
}

TEST_CASE("schedules in files") {
    Folder folder;
    std::string good = folder.write("good", "split(gsum)\nreorder(gsum.ag, {avg, m1, v1, p1})\nfuse_all()\n");
    Outcome o = command("-g adam -e schedule,graph -o " + folder.path.string() + " schedule=@" + good);
    CHECK(o.err == "");
    CHECK(contents(folder.path / "adam.schedule").find("reorder(gsum.ag, {avg, m1, v1, p1})") != std::string::npos);
    CHECK(contents(folder.path / "adam.graph").find("p1.ag") != std::string::npos);
    // What was written is what can be read.
    Outcome again = command("-g adam -f again -e schedule -o " + folder.path.string() + " schedule=@" +
                            (folder.path / "adam.schedule").string());
    CHECK(again.err == "");
    CHECK(contents(folder.path / "again.schedule") == contents(folder.path / "adam.schedule"));

    Refusals refuse{folder, ""};
    auto with = [&](const std::string &text) {
        refuse.text += text + "\n";
        refuse("-g adam --check 1 schedule=@" + folder.write("bad", text));
    };
    refuse("-g adam --check 1 schedule=@" + folder.path.string() + "/missing");
    with("split(gsum)\nreorder(gsum.ag, {avg, m1, v2, p1})\n");
    with("split(gsum)\nreordr(gsum.ag, {avg})\n");
    with("split(gsum\n");
    with("split(gsum)\n  split(gsum)\n");
    check_golden("lower/command_line_schedule_files", refuse.text);
}

TEST_CASE("every kind of file is written, and is what its name says") {
    Folder folder;
    std::string kinds;
    for (auto &k : emit_kinds()) kinds += (kinds.empty() ? "" : ",") + k;
    std::string dir = (folder.path / "made").string();  // made by the command
    Outcome o = command("-g scale -f twice -e " + kinds + " -o " + dir + " type=float64 width=8 by=2 bias=0");
    CHECK(o.err == "");
    REQUIRE(o.status == 0);
    std::map<std::string, std::string> inside;
    inside[".a"] = "!<arch>";
    inside[".h"] = "int twice(stretto_comm_t *comm";
    inside[".plan"] = "plan scale";
    inside[".plan.json"] = "{";
    inside[".schedule"] = "";
    inside[".graph"] = "program scale";
    inside[".loop_nest"] = "in slice of n";
    inside[".stmt"] = "twice";
    inside[".stmt.html"] = "<html";
    CHECK(inside.size() == emit_kinds().size());
    std::istringstream printed(o.out);
    size_t lines = 0;
    for (std::string path; std::getline(printed, path); lines++) {
        std::string name = fs::path(path).filename().string(), extension = name.substr(name.find('.'));
        REQUIRE_MESSAGE(inside.count(extension), path);
        std::string text = contents(path);
        bool there = text.find(inside[extension]) != std::string::npos;
        CHECK_MESSAGE(there, path << ":\n"
                                  << text.substr(0, 500));
    }
    CHECK(lines == inside.size());

    Outcome runtime = command("-r support -o " + dir + " " + target);
    CHECK(runtime.status == 0);
    CHECK(contents(fs::path(dir) / "support.a").find("halide_error") != std::string::npos);
}

TEST_CASE("Adam's schedules, in every form that people read") {
    Folder folder;
    std::map<std::string, std::string> forms = {
        {"graph", ".graph"}, {"loop_nest", ".loop_nest"}, {"schedule", ".schedule"}, {"plan", ".plan"}, {"c_header", ".h"}};
    for (std::string schedule : {"default", "on_slices", "fused"}) {
        std::string kinds;
        for (auto &f : forms) kinds += (kinds.empty() ? "" : ",") + f.first;
        Outcome o = command("-g adam -f adam_" + schedule + " -e " + kinds + " -o " + folder.path.string() + " schedule=" +
                            schedule + " " + target);
        CHECK(o.err == "");
        REQUIRE(o.status == 0);
        for (auto &[kind, extension] : forms)
            check_golden("lower/adam_" + schedule + "_" + kind, contents(folder.path / ("adam_" + schedule + extension)));
    }
}

TEST_CASE("--check: every schedule of Adam has the reference's bits, for each type of gradient") {
    for (std::string schedule : {"default", "on_slices", "fused"})
        for (std::string type : {"float32", "float16", "bfloat16"}) {
            // 16-bit gradients differ in the loads alone; test same_bits has them under every schedule.
            if (type != "float32" && schedule != "fused") continue;
            INFO(schedule << ", " << type);
            std::string ranks = type == "float32" ? "1,2,3,4,8" : "2,3";
            Outcome o = command("-g adam schedule=" + schedule + " grad_type=" + type + " --check " + ranks);
            CHECK(o.err == "");
            CHECK(o.status == 0);
            for (std::string output : {"p", "m", "v"})
                CHECK_MESSAGE(o.out.find(output + ": 0 of ") != std::string::npos, o.out);
            std::string runs = type == "float32" ? "30 runs" : "12 runs";  // six sizes each
            CHECK_MESSAGE(o.out.find(runs) != std::string::npos, o.out);
        }
}
