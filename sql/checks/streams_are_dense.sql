-- A stream's positions run from 0 without a gap, each held once.
select
    stream_id,
    count(*) as n_events,
    max(position) as last_position
from events
group by stream_id
having count(*) <> max(position) + 1 or count(distinct position) <> count(*)
