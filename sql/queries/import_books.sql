-- What did an import keep? Records per file, and the issues found.
select
    s.path,
    s.format,
    s.n_records,
    s.n_loaded,
    s.n_quarantined,
    s.n_skipped,
    s.complete,
    count(i.code) as n_issues
from source_files as s
left join issues as i on s.stream_id = i.stream_id
group by all
order by s.path
