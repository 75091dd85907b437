// What the passes of lower.cpp hand to each other: stages and storage over a scheduled graph. The plan is written from it.
#pragma once
#include "collectives/plan/plan_generated.h"
#include "schedule/partition.h"

namespace stretto {

// Memory of one tensor on one rank.
struct Storage {
    std::string name;
    Type type;
    Dims dims;
    int sliced = -1;
    ArgumentId argument = -1;  // -1: scratch
    bool peers = false;        // other ranks load from it or store to it
};

struct StageStore {
    NodeId node;
    int buffer;
    bool all;       // to every rank's buffer
    bool in_place;  // the kernel reads the element before it stores it
};

struct Stage {
    plan::StageKind kind = plan::StageKind::Sweep;
    std::vector<NodeId> nodes;        // in the order of computation
    Dims loops;                       // the first `outputs` are the result's dimensions
    std::vector<plan::Range> ranges;  // one a loop
    int outputs = 0;
    int slice = -1;              // the loop that each rank does its block of
    int group = -1;              // of fuse
    bool communication = false;  // one communication on its own: nothing joins it
    bool collective = false;     // an all-reduce that OneShot or TwoPhase may carry
    Algorithm algorithm = Algorithm::Auto;
    int vectorize = 0;  // lanes asked for; 0: the target's
    std::vector<StageStore> stores;
    bool barrier_one_shot = false, barrier_two_phase = false;
};

struct Lowering {
    Graph graph;
    std::vector<Stage> stages;
    std::map<NodeId, int> stage_of;
    std::vector<Storage> buffers;
    std::map<NodeId, int> buffer_of;  // of arguments, and of nodes that are stored
    bool leave_one_shot = false, leave_two_phase = false;
};

}  // namespace stretto
