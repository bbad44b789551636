-- One row per trained adapter.
-- grain: adapter_id
select
    (payload ->> '$.adapter_id')::varchar as adapter_id,
    line_id::varchar as line_id,
    (payload ->> '$.dataset_id')::varchar as dataset_id,
    (payload ->> '$.base')::varchar as base,
    (payload -> '$.config')::varchar as config,
    (payload ->> '$.path')::varchar as path,
    (payload ->> '$.sha256')::varchar as hash,
    (payload -> '$.losses')::varchar as losses,
    (payload ->> '$.n_steps')::bigint as n_steps,
    (payload ->> '$.duration_s')::double as duration_s
from events
where kind = 'adapter_trained'
