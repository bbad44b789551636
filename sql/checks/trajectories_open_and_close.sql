-- A trajectory of ours opens at position 0 and closes once.
select
    trajectory_id,
    count(*) filter (where kind = 'trajectory_opened') as n_opened,
    min(position) filter (where kind = 'trajectory_opened') as opened_at,
    count(*) filter (where kind = 'trajectory_closed') as n_closed
from events
where trajectory_id is not null
group by trajectory_id
having n_opened <> 1 or opened_at <> 0 or n_closed <> 1
