-- One row per published training set.
-- grain: dataset_id
select
    (payload ->> '$.dataset_id')::varchar as dataset_id,
    line_id::varchar as line_id,
    (payload ->> '$.table_version')::bigint as table_version,
    (payload ->> '$.n_examples')::bigint as n_examples,
    (payload -> '$.card')::varchar as card
from events
where kind = 'dataset_published'
