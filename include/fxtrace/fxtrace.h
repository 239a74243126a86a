// fxtrace as a library: everything that users may rely on, by semantic versioning.  What is in
// fxtrace::internal may change at any time.
#pragma once

#include "fxtrace/argument.h"
#include "fxtrace/catalog.h"
#include "fxtrace/check.h"
#include "fxtrace/collection.h"
#include "fxtrace/error.h"
#include "fxtrace/graph.h"
#include "fxtrace/listener.h"
#include "fxtrace/model.h"
#include "fxtrace/plugin_folder.h"
#include "fxtrace/report_values.h"
#include "fxtrace/reports.h"
#include "fxtrace/trace_options.h"
#include "fxtrace/values.h"
