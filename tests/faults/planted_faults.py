#!/usr/bin/env python3
"""Plants one fault at a time in a copy of the sources, rebuilds, and expects a named check to fail.

usage: planted_faults.py BUILD [NAME ...]     BUILD: a scratch folder for the copy and its build (kept for the next run)
       planted_faults.py --texts              only whether every fault still fits the sources, as ctest does (faults.texts)

A fault is one piece of text that is replaced in one file; it must occur exactly once. Needs a configured environment as
./run build leaves it (STRETTO_HALIDE_ROOT, or build/venv in the project).
"""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = ["apps/adam/adam_generator", "-g", "adam", "schedule=fused", "--check", "1,2,3,4"]

VERIFY = ["tests/lower/test_lower_verify"]
RACES = ["tests/lower/test_lower_plan_races"]
VALUES = ["tests/cases/test_cases_values"]

# name, file, text, replacement, target to build, command that must fail
FAULTS = [
    ("all_of_2_to_the_31_in_one_call", "collectives/execute/instance.cpp", "everything = int64_t(1) << 30",
     "everything = INT64_MAX / 2", "test_cases_values", VALUES),
    ("fill_of_the_sender", "schedule/partition.cpp", "(rank_value() - c.from.value) % ranks_value()", "rank_value() + 0",
     "test_lower_shift_ends", ["tests/lower/test_lower_shift_ends"]),
    ("stored_to_the_wrong_side", "collectives/execute/instance.cpp", "store.to.push_back(there == in.rank || there < 0);",
     "store.to.push_back(here == q || here < 0);", "test_lower_shift_ends", ["tests/lower/test_lower_shift_ends"]),
    ("updated_where_a_peer_stores", "lower/storage.cpp", "write->from != From::Shift &&", "", "test_lower_verify", VERIFY),
    ("shift_of_a_slice_stored", "collectives/plan/check_stages.cpp", "if (a.from == From::Shift && (b.sliced >= 0 || divided))",
     "if (false)", "test_plan_validate", ["tests/plan/test_plan_validate"]),
    ("a_check_of_nothing_passes", "lower/generator/check.cpp", "return x.elements > 0 && x.different == 0;",
     "return x.different == 0;", "test_lower_generators", ["tests/lower/test_lower_generators"]),
    ("second_generator_of_a_name_is_silent", "lower/generator/generator.cpp", "    if (added) return;\n", "    return;\n",
     "test_lower_generators", ["tests/lower/test_lower_generators"]),
    ("options_without_effect_are_dropped", "lower/generator/command_line.cpp", "        check_use(app);\n", "",
     "test_lower_generators", ["tests/lower/test_lower_generators"]),
    ("add_order", "lower/kernel_body.cpp", "    Expr sum = expression(b.value, here, 0);\n    for (int k = 1; k < addends.ranks; k++)",
     "    Expr sum = expression(b.value, here, addends.ranks - 1);\n    for (int k = addends.ranks - 1; k-- > 0;)",
     "adam_generator", CHECK),
    ("local_for_global_index", "collectives/execute/geometry.h", "dim[j].min = int32_t(box.lo[d])", "dim[j].min = 0",
     "adam_generator", CHECK),
    ("dropped_leave", "lower/syncs.cpp", "    d.before(caller);\n", "", "adam_generator", CHECK),
    ("dropped_sync", "lower/syncs.cpp", "            items.push_back(sync);\n", "", "test_lower_verify", VERIFY),
    ("sync_of_another_buffer", "lower/syncs.cpp", "sync.buffers.push_back(buffer);", "sync.buffers.push_back(0);",
     "test_lower_verify", VERIFY),
    ("all_slices_apart", "collectives/plan/touch.h", "b / 4 == a / 4 && b / 4 != anywhere + 1", "b / 4 == a / 4",
     "test_lower_verify", VERIFY),
    ("sync_left_out_at_run_time", "collectives/execute/order.cpp", "in.waits.push_back(clashes);", "in.waits.push_back(false);",
     "test_lower_plan_races", RACES),
    ("scratch_used_again_too_early", "collectives/execute/order.cpp", "            last[size_t(a->buffer)] = end;",
     "            if (last[size_t(a->buffer)] < 0) last[size_t(a->buffer)] = end;", "test_lower_plan_races", RACES),
    ("access_with_the_wrong_region", "lower/stages.cpp", "if (known.reach[d] != a.reach[d]) known.reach[d] = any_element;",
     "", "test_lower_verify", VERIFY),
    ("arm_that_stores_to_itself", "lower/stages.cpp", "if (a.written >= 0) a.from = From::Each;", "", "test_lower_verify", VERIFY),
    ("every_reduction_a_sum", "lower/stages.cpp", "            b.op = n.reduce_op();\n", "", "test_lower_verify", VERIFY),
    ("bodies_compared_without_reductions", "lower/kernels.cpp", "x.over == y.over && x.op == y.op &&", "x.over == y.over &&",
     "test_lower_verify", VERIFY),
    ("updated_while_others_read", "lower/storage.cpp", "return reader < stage ||", "return reader <= stage ||",
     "test_lower_verify", VERIFY),
    ("computed_index_taken_for_own", "collectives/execute/instance.cpp", "        if (a.reach[size_t(d)] != d) return false;\n", "",
     "test_plan_collectives", ["tests/plan/test_plan_collectives"]),
    ("rider_begins_anew", "collectives/execute/sweep.cpp", "rider.first = region.empty() || region.lo[0] == block.begin;",
     "rider.first = 1;", "test_lower_riding", ["tests/lower/test_lower_riding"]),
    ("chunks_of_half_sub_blocks", "collectives/execute/instance.cpp", "blocks, plan::sub_block);", "blocks, plan::sub_block / 2);",
     "test_lower_riding", ["tests/lower/test_lower_riding"]),
    ("swapped_slices", "collectives/execute/geometry.h", "inline Block block_of(int64_t n, int rank, int ranks) {",
     "inline Block block_of(int64_t n, int rank, int ranks) {\n    rank = ranks - 1 - rank;", "adam_generator", CHECK),
    ("signal_before_the_copies", "collectives/execute/sweep_shared.cpp", "if (store.to[size_t(q)] && q != store.rank",
     "if (!store.to[size_t(q)] && q != store.rank",
     "adam_generator", CHECK),
    ("bits_of_floats", "lang/check_expression.cpp", "if (!bits.defined() && no_bits(c)) bits = c;", "", "test_lang_surface",
     ["tests/lang/test_lang_surface"]),
    ("errors_of_halide_as_they_are", "lang/error.cpp", "    Halide::set_custom_compile_time_error_reporter(&reporter);\n", "",
     "test_lang_surface", ["tests/lang/test_lang_surface"]),
    ("verbs_of_no_node", "schedule/schedule.cpp", "    attempt(name_of(verb) + \"(...)\", known, where);\n", "",
     "test_schedule_surface_fuzzer", ["tests/schedule/test_schedule_surface_fuzzer"]),
    ("stale_plan_scalar", "collectives/execute/executor.cpp", "if (plan.cpu->scalar_kernel < 0) return STRETTO_OK;",
     "if (plan.cpu->scalar_kernel < 0 || x.comm.stats.calls > 1) return STRETTO_OK;", "test_cases_optimizers",
     ["tests/cases/test_cases_optimizers"]),
    ("first_flag", "collectives/execute/instance.cpp", "turn == 0 ? &in.first : &in.first_of_others",
     "turn == 1 ? &in.first : &in.first_of_others", "adam_generator", CHECK),
    ("unfused_multiply_add", "lower/contract.cpp", "return acc + factor(m->a) * factor(m->b);",
     "return strict_float(acc + m->a * m->b);", "test_lower_contraction", ["tests/lower/test_lower_contraction"]),
    ("tuple_reads_hidden", "lower/kernels.cpp", "values = visible(values, body.elements_read());", "(void)visible;",
     "adam_generator", CHECK),
    ("nan_dropped_by_max", "lang/expand.cpp", "select(first || differs_from_itself(a), a, b)", "select(first, a, b)",
     "test_cases_numbers", ["tests/cases/test_cases_numbers"]),
    ("remainder_lanes_lost", "lower/lanes.cpp", "combined(whole(at(lane)), rest(at(lane)))", "whole(at(lane)) + 0.0f",
     "test_lower_same_bits", ["tests/lower/test_lower_same_bits"]),
    ("kernel_sub_blocks_of_2048", "lower/lanes.cpp",
     'static_assert(order_sub_block == plan::sub_block, "the runtime cuts sweeps at whole sub-blocks");',
     "constexpr int order_sub_block = 2048;", "test_lower_orders", ["tests/lower/test_lower_orders"]),
    ("lanes_folded_by_neighbours", "lower/lanes.cpp", "half(at(lane)), half(at(lane + w))", "half(at(lane * 2)), half(at(lane * 2 + 1))",
     "test_lower_orders", ["tests/lower/test_lower_orders"]),
    ("rows_wrap_late", "lower/lanes.cpp", "+ length <= extent[last];", "+ length <= extent[last] + 1;",
     "test_lower_orders", ["tests/lower/test_lower_orders"]),
    ("a_matrix_and_a_vector_fused", "lang/order.cpp", "has_of_its_own(product->b, product->a, n.vars());", "true;",
     "test_reference_reductions", ["tests/reference/test_reference_reductions"]),
    ("one_parity_of_operands", "collectives/transport/shared_transport.h", "operands(rank(), int(enters_ & 1), bytes)",
     "operands(rank(), 0, bytes)", "test_plan_carried", ["tests/plan/test_plan_carried"]),
    ("no_wait_for_the_last_reader", "collectives/execute/carry.cpp", "if (s.barrier || s.sends_results) return;", "if (s.barrier) return;",
     "test_lower_plan_races", ["tests/lower/test_lower_plan_races"]),
    ("data_before_the_agreement", "collectives/execute/sweep_message.cpp",
     "if (int status = x_.transport().agree()) return status;\n", "",
     "test_plan_fused", ["tests/plan/test_plan_fused"]),
    ("operands_of_an_earlier_enter", "collectives/transport/message_transport.cpp", "        p.carry_bytes = 0;\n", "",
     "test_runtime_messages", ["tests/runtime/test_runtime_messages"]),
    ("operands_of_the_last_call", "collectives/execute/executor.cpp", "        carry_on_messages(x);\n",
     "        if (x.comm.stats.calls < 3) carry_on_messages(x);\n",
     "test_plan_carried", ["tests/plan/test_plan_carried"]),
    ("a_world_for_each_communicator", "collectives/transport/message_transport.cpp",
     "made->reset(new MessageTransport(world_, std::move(network), std::move(members)));",
     "auto world = std::make_shared<MessageWorld>(network, world_->settings, world_->spin);\n"
     "    made->reset(new MessageTransport(world, std::move(network), std::move(members)));",
     "test_runtime_sub", ["tests/runtime/test_runtime_sub"]),
    ("sorted_communicator", "collectives/transport/shared_sub.cpp", "    std::unique_ptr<SharedTransport> t(",
     "    std::sort(members.begin(), members.end());\n    std::unique_ptr<SharedTransport> t(",
     "test_plan_communicators", ["tests/plan/test_plan_communicators"]),
    ("stale_address_table", "collectives/transport/shared_transport.cpp", "        uint64_t value = no_place;\n",
     "        if (i >= near_places && enters_ > world_->settings().first_epoch + 2) continue;\n        uint64_t value = no_place;\n",
     "test_plan_tables", ["tests/plan/test_plan_tables"]),
    ("one_table_for_both_parities", "collectives/transport/shared_transport.cpp", "Table &table = tables_[parity_];",
     "Table &table = tables_[0];", "test_plan_tables", ["tests/plan/test_plan_tables"]),
    ("far_peer_taken_for_near", "collectives/execute/instance.cpp",
     "instance->near.push_back(host == hosts[size_t(rank)]);", "instance->near.push_back(host == hosts[0]);",
     "test_plan_collectives", ["tests/plan/test_plan_collectives"]),
    ("refusals_differ_by_text", "collectives/execute/executor.cpp", 'hash_bytes("refused", 7)',
     "hash_bytes(text.data(), text.size())", "test_plan_refused", ["tests/plan/test_plan_refused"]),
    ("stale_handle", "schedule/schedule.cpp", "    if (id >= 0 && now.current(id) >= 0) return now.current(id);",
     "    if (id >= 0) return id;", "test_schedule_handles", ["tests/schedule/test_schedule_handles"]),
    ("sweeps_modelled", "schedule/sweep.cpp", "sweeps[settled.at(stage[0]).directives.group]++;",
     "sweeps[settled.at(stage[0]).directives.group] = 1;", "test_schedule_stages", ["tests/schedule/test_schedule_stages"]),
    ("block_results_exchanged_early", "schedule/partition.cpp", "order.push_back({before + exchange, order.size()});",
     "order.push_back({0, order.size()});", "test_schedule_stages", ["tests/schedule/test_schedule_stages"]),
    ("domain_forgets_a_slice", "lang/infer.cpp", "i.axes = i.reduced ? Axes{} : layout.axes_of(d);", "i.axes = Axes{};",
     "adam_generator", CHECK),
    ("shared_parts_out_of_order", "lang/shared_parts.cpp", "for (auto it = bound.rbegin(); it != bound.rend(); ++it)",
     "for (auto it = bound.begin(); it != bound.end(); ++it)", "test_lower_shared_parts", ["tests/lower/test_lower_shared_parts"]),
    ("a_lookup_loses_its_layout", "lang/expression_layout.cpp", "            r = o;\n            continue;", "            continue;",
     "test_lower_data_index", ["tests/lower/test_lower_data_index"]),
    ("shifted_the_other_way", "collectives/execute/instance.cpp", "const int there = reader + a.rank % ranks;",
     "const int there = reader - a.rank % ranks;", "test_lower_same_bits", ["tests/lower/test_lower_same_bits"]),
    ("infinity_lost_in_a_conversion", "lower/conversions.cpp", "Expr is_special = rest >= number(bits, from.infinity());",
     "Expr is_special = rest > number(bits, from.infinity());", "test_cases_values", VALUES),
    ("overflow_left_to_the_instruction", "lower/conversions.cpp", "Expr is_special = rest >= number(bits, beyond);",
     "Expr is_special = rest >= number(bits, from.infinity());", "test_cases_values", VALUES),
    ("fused_where_the_target_cannot", "lower/contract.cpp",
     "    if (!has_fused_multiply_add(target)) return strict_float(acc + value);\n", "", "test_lower_strict_code",
     ["tests/lower/test_lower_strict_code"]),
    ("the_reference_always_fuses", "lower/generator/check.cpp", "{has_fused_multiply_add(parse_target(o.compile.target))}", "{true}",
     "test_cases_values", VALUES),
    ("abs_left_to_halide", "lang/expand.cpp", "if (c->is_intrinsic(Call::abs)) return magnitude(args[0]);", "",
     "test_lower_strict_code", ["tests/lower/test_lower_strict_code"]),
    ("round_away_from_even", "lang/expand.cpp", "strict_float((size + large) - large)",
     "strict_float(floor(size + make_const(t, 0.5)))", "test_cases_values", VALUES),
    ("root_in_float16", "lang/tensor.cpp", "cast(accumulator_type(value.type()), value) : value", "value : value",
     "test_cases_values", VALUES),
    ("integers_rounded_first", "lang/expand.cpp", "if (!x->value.type().is_float()) return cast(f32, v);", "", "test_cases_values",
     VALUES),
    ("literals_as_integers", "lang/types.cpp", "return Expr(value);", "return Expr(int(value));", "test_lang_literals",
     ["tests/lang/test_lang_literals"]),
    ("names_of_values_forgotten", "lower/wrapping.cpp", "if (find.found) data.insert(s->name);", "", "test_cases_values", VALUES),
    ("kernels_of_another_plan", "collectives/execute/cache.h", "if (found.vouched != dispatch)", "if (false)", "test_plan_refused",
     ["tests/plan/test_plan_refused"]),
    ("loads_past_the_slice", "collectives/execute/instance.cpp", "        check_load(s, to, *s.accesses[size_t(access)], rank);\n", "",
     "test_plan_refused", ["tests/plan/test_plan_refused"]),
    ("kernels_that_say_nothing", "lower/signatures.cpp", "plan::hash_of(says)", "1", "test_lower_compile",
     ["tests/lower/test_lower_compile"]),
    ("shared_vectors_unpacked", "collectives/plan/validate.cpp", "return used_ <= size_;", "return true;", "test_plan_fuzz",
     ["tests/plan/test_plan_fuzz"]),
    ("scratch_without_a_limit", "collectives/execute/order.cpp", "if (end > most_bytes)", "if (false)", "test_plan_refused",
     ["tests/plan/test_plan_refused"]),
    ("programs_differ_as_hashes", "collectives/transport/mismatch.cpp", "if (compare(lines).empty()) continue;", "continue;",
     "test_runtime_mismatch", ["tests/runtime/test_runtime_mismatch"]),
    ("trapping_exceptions_compared", "collectives/comm/comm.cpp", "_mm_getcsr() & (0x8000 | 0x0040 | 0x6000)", "_mm_getcsr() & ~0x3fu",
     "test_plan_refused", ["tests/plan/test_plan_refused"]),
    ("only_the_rank_is_ended", "collectives/run/stretto_run.cpp", "kill(-pid, SIGKILL);", "kill(pid, SIGKILL);",
     "test_runtime_launcher", ["tests/runtime/test_runtime_launcher"]),
    ("a_deadline_for_each_rank", "collectives/transport/shared_transport.cpp", "if (!deadline) deadline.emplace(", "deadline.emplace(",
     "test_runtime_deadline", ["tests/runtime/test_runtime_deadline"]),
    ("suspended_time_counts", "collectives/base/clock.h", "std::min(now - looked_, step_)", "now - looked_",
     "test_runtime_deadline", ["tests/runtime/test_runtime_deadline"]),
    ("ranks_of_two_jobs_meet", "collectives/comm/environment.cpp", "if (!first_set(c.job) && launch->ranks > 1) {",
     "if (launch->ranks < 0) {", "test_runtime_environment", ["tests/runtime/test_runtime_environment"]),
    ("closed_descriptor_taken_for_death", "collectives/world/process.cpp", " && p.revents & POLLIN && has_handle()", "",
     "test_runtime_meeting", ["tests/runtime/test_runtime_meeting"]),
    ("other_program_taken_for_the_rank", "collectives/world/process.cpp", "image.stack != first_.stack", "image.stack == 0",
     "test_runtime_meeting", ["tests/runtime/test_runtime_meeting"]),
    ("buffer_of_an_endless_receive_given_back", "collectives/transport/message_world.cpp", "    memory.keep(op->data);\n", "",
     "test_runtime_messages", ["tests/runtime/test_runtime_messages"]),
    ("groups_above_forgotten", "collectives/base/cgroup.cpp", "group.resize(group.rfind('/'));", "group.clear();",
     "test_runtime_window_memory", ["tests/runtime/test_runtime_window_memory"]),
    ("free_memory_stays", "collectives/memory/window_memory.cpp", "madvise(own_ + from, to - from, MADV_REMOVE);", ";",
     "test_runtime_window_memory", ["tests/runtime/test_runtime_window_memory"]),
    ("alignment_of_offsets", "collectives/memory/window_memory.cpp", "Heap(stride_, uint64_t(own_))", "Heap(stride_)",
     "test_runtime_window_memory", ["tests/runtime/test_runtime_window_memory"]),
    ("one_rank_keeps_its_limit_to_itself", "collectives/comm/meeting.cpp",
     "            if (connect_to(name_, deadline, &socket) == STRETTO_OK) refuse(socket, bad);\n", "", "test_runtime_meeting",
     ["tests/runtime/test_runtime_meeting"]),
]


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--texts":
        unfit = [f"{name}: '{text}' occurs {count} times in {file}" for name, file, text, *_ in FAULTS
                 if (count := (ROOT / file).read_text().count(text)) != 1]
        print("\n".join(unfit + [f"{len(FAULTS)} faults, {len(unfit)} do not fit"]))
        sys.exit(1 if unfit else 0)
    scratch = pathlib.Path(sys.argv[1]).resolve()
    wanted = sys.argv[2:]
    copy, build = scratch / "tree", scratch / "build"
    copy.mkdir(parents=True, exist_ok=True)
    files = run(["git", "ls-files"], cwd=ROOT).stdout.split("\n")
    for name in filter(None, files):  # copy what changed, so that an earlier build is used again
        source, target = ROOT / name, copy / name
        if not source.is_file():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copyfile(source, target)
            shutil.copymode(source, target)
    environment = dict(os.environ)
    if "STRETTO_HALIDE_ROOT" not in environment:
        found = list((ROOT / "build" / "venv").glob("lib/python3*/site-packages/halide"))
        if found:
            environment["STRETTO_HALIDE_ROOT"] = str(found[0])
    configure = run(["cmake", "-S", str(copy), "-B", str(build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"], env=environment)
    if configure.returncode:
        sys.exit(configure.stdout)

    def make(target):
        result = run(["ninja", "-C", str(build), target])
        if result.returncode:
            print(result.stdout[-3000:])
        return result.returncode == 0

    missed = 0
    for name, file, text, replacement, target, command in FAULTS:
        if wanted and name not in wanted:
            continue
        path = copy / file
        original = path.read_text()
        if original.count(text) != 1:
            print(f"{name}: '{text}' occurs {original.count(text)} times in {file}")
            missed += 1
            continue
        targets = {target, pathlib.Path(command[0]).name}
        if not all(make(t) for t in targets):
            sys.exit(f"{name}: the copy does not build without the fault")
        clean = run([str(build / command[0])] + command[1:], timeout=600)
        path.write_text(original.replace(text, replacement))
        try:
            built = all(make(t) for t in targets)
            faulty = run([str(build / command[0])] + command[1:], timeout=600) if built else None
        finally:
            path.write_text(original)
        caught = built and clean.returncode == 0 and faulty.returncode != 0
        missed += not caught
        said = faulty.stdout.strip().split("\n")[-1][:100] if faulty and faulty.stdout.strip() else ""
        print(f"{name}: {'caught by' if caught else 'NOT CAUGHT by'} {' '.join(command)}: {said}", flush=True)
    print(f"{missed} faults missed")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
