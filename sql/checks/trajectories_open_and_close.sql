-- A trajectory of ours opens at position 0 and closes once.
select
    trajectory_id,
    count(*) filter (where kind = 'trajectory_opened' and position = 0) as n_opened,
    count(*) filter (where kind = 'trajectory_closed') as n_closed
from events
where trajectory_id is not null
group by trajectory_id
having n_opened <> 1 or n_closed <> 1
