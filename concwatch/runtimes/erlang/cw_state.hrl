%% The state of the worker, which commands change.
-record(state, {
    wire :: cw_wire:wire(),
    counts :: cw_counts:counts(),
    reporter :: pid(),
    trimmer :: pid(),
    %% The number of commands in the mailbox.
    waiting :: counters:counters_ref(),
    tasks :: cw_tasks:tasks(),
    goal = cw_goal:new() :: cw_goal:goal(),
    %% The target for which a marker process was started, and the one for which it has begun.
    probing = none :: integer() | none,
    begun = none :: integer() | none,
    %% Whether the first failure of this workload has been reported.
    failure_reported = false :: boolean(),
    %% Whether the target is held: a task that completes needs nothing but another one instead.
    steady = false :: boolean(),
    %% While tasks fail because they cannot open a file: the target before, the one it was lowered to, why, and when the
    %% last one has failed.
    file_limit = none :: {integer(), integer(), atom(), integer()} | none,
    burst = none :: cw_burst:burst() | none
}).
