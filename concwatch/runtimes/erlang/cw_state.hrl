%% What the worker goes by. It alone has it, and lends it to the commands.
-record(state, {
    wire :: cw_wire:wire(),
    counts :: cw_counts:counts(),
    reporter :: pid(),
    trimmer :: pid(),
    %% How many commands wait in the mailbox.
    waiting :: counters:counters_ref(),
    tasks :: cw_tasks:tasks(),
    goal = cw_goal:new() :: cw_goal:goal(),
    %% The target for which a last process was started, and the one for which it has begun.
    probing = none :: integer() | none,
    begun = none :: integer() | none,
    %% Whether the first failure of this workload has been told.
    failure_told = false :: boolean(),
    burst = none :: cw_burst:burst() | none
}).
