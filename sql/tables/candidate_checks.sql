-- One row per check of a candidate before it is measured.
-- grain: candidate_id, check_name
select
    line_id::varchar as line_id,
    round::bigint as round,
    (payload ->> '$.candidate_id')::varchar as candidate_id,
    (payload ->> '$.check')::varchar as check_name,
    (payload ->> '$.passed')::boolean as passed,
    (payload ->> '$.detail')::varchar as detail
from events
where kind = 'candidate_checked'
