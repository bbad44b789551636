-- One row per judged candidate, with every figure the policy looked at.
-- grain: candidate_id
select
    line_id::varchar as line_id,
    round::bigint as round,
    (payload ->> '$.candidate_id')::varchar as candidate_id,
    (payload ->> '$.accepted')::boolean as accepted,
    (payload ->> '$.retained')::boolean as retained,
    (payload ->> '$.outcome')::varchar as outcome,
    (payload ->> '$.reason')::varchar as reason,
    (payload ->> '$.policy')::varchar as policy,
    (payload ->> '$.figures.difference')::double as difference,
    (payload ->> '$.figures.standard_error')::double as standard_error,
    (payload ->> '$.figures.resolvable')::double as resolvable,
    (payload -> '$.figures')::varchar as figures
from events
where kind = 'candidate_judged'
