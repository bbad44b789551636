-- One row per published training set, as of its last publication.
-- grain: dataset_id
select
    (payload ->> '$.dataset_id')::varchar as dataset_id,
    line_id::varchar as line_id,
    (payload ->> '$.table_version')::bigint as table_version,
    (payload ->> '$.n_examples')::bigint as n_examples,
    (payload -> '$.card')::varchar as card,
    position::bigint as position
from events
where kind = 'dataset_published'
qualify
    row_number() over (partition by payload ->> '$.dataset_id' order by position desc) = 1
