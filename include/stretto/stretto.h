// The language, schedules, and compilation in one header. See README.md and tutorials/.
#pragma once
#include "lang/print.h"
#include "lang/program.h"
#include "lower/generator/check.h"
#include "lower/generator/generator.h"
#include "lower/generator/jit.h"
#include "schedule/named_schedule.h"
#include "schedule/schedule.h"
