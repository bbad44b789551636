-- Every record of an imported file is loaded, quarantined or skipped.
select
    path,
    n_records,
    n_loaded,
    n_quarantined,
    n_skipped
from source_files
where n_records <> n_loaded + n_quarantined + n_skipped
