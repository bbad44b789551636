-- On which kinds of tasks does it fail most? Score and delivery per family, harness and weights.
select
    suite,
    split,
    family,
    harness_id,
    weights_id,
    count(*) as n,
    round(avg(score), 3) as score,
    round(avg(delivered::int), 3) as delivery
from trajectories
where reward_trustworthy and source = 'instar'
group by all
order by score asc, n desc
