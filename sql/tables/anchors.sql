-- One row per fresh measurement of a retained harness; gains are differences of these means.
-- grain: line_id, round
select
    line_id::varchar as line_id,
    round::bigint as round,
    (payload ->> '$.harness_id')::varchar as harness_id,
    (payload ->> '$.batch_id')::varchar as batch_id,
    (payload ->> '$.session_id')::varchar as session_id,
    (payload ->> '$.reading.m')::bigint as m,
    (payload ->> '$.reading.n_tasks')::bigint as n_tasks,
    (payload ->> '$.reading.n_rollouts')::bigint as n_rollouts,
    (payload ->> '$.reading.n_excluded')::bigint as n_excluded,
    (payload ->> '$.reading.coverage')::double as coverage,
    (payload ->> '$.reading.mean')::double as mean,
    (payload ->> '$.reading.sd')::double as sd,
    (payload ->> '$.reading.delivery')::double as delivery,
    (payload ->> '$.reading.quality')::double as quality,
    (payload ->> '$.reading.healthy')::double as healthy,
    (payload ->> '$.reading.F1')::double as f1,
    (payload ->> '$.reading.F2')::double as f2,
    (payload ->> '$.reading.F3')::double as f3,
    (payload ->> '$.reading.F4')::double as f4,
    (payload ->> '$.reading.repeated_call')::double as repeated_call,
    (payload ->> '$.reading.turns')::double as turns,
    (payload ->> '$.reading.input_tokens')::double as input_tokens,
    (payload ->> '$.reading.output_tokens')::double as output_tokens
from events
where kind = 'anchor_measured'
