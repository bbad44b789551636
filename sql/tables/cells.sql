-- One row per measured cell of harness x weights x split; compare only within one batch_id.
-- grain: batch_id, harness, weights, split
select
    line_id::varchar as line_id,
    (payload ->> '$.batch_id')::varchar as batch_id,
    (payload ->> '$.n_sessions')::bigint as n_sessions,
    (payload ->> '$.harness')::varchar as harness,
    (payload ->> '$.harness_id')::varchar as harness_id,
    (payload ->> '$.weights')::varchar as weights,
    (payload ->> '$.weights_id')::varchar as weights_id,
    (payload ->> '$.split')::varchar as split,
    (payload ->> '$.reading.m')::bigint as m,
    (payload ->> '$.reading.n_tasks')::bigint as n_tasks,
    (payload ->> '$.reading.n_rollouts')::bigint as n_rollouts,
    (payload ->> '$.reading.n_excluded')::bigint as n_excluded,
    (payload ->> '$.reading.mean')::double as mean,
    (payload ->> '$.reading.sd')::double as sd,
    (payload ->> '$.reading.delivery')::double as delivery,
    (payload ->> '$.reading.quality')::double as quality,
    (payload ->> '$.reading.healthy')::double as healthy,
    (payload ->> '$.reading.F1')::double as f1,
    (payload ->> '$.reading.F2')::double as f2,
    (payload ->> '$.reading.F3')::double as f3,
    (payload ->> '$.reading.F4')::double as f4,
    (payload ->> '$.reading.turns')::double as turns,
    (payload ->> '$.reading.input_tokens')::double as input_tokens,
    (payload ->> '$.reading.output_tokens')::double as output_tokens,
    occurred_at::timestamptz as measured_at
from events
where kind = 'cell_measured'
