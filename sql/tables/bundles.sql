-- One row per file of each harness bundle ever run or proposed.
-- grain: harness_id, path
select
    (e.payload ->> '$.harness_id')::varchar as harness_id,
    f.key::varchar as path,
    (f.value ->> '$')::varchar as content
from events as e, json_each(e.payload, '$.files') as f
where e.kind = 'bundle_captured'
