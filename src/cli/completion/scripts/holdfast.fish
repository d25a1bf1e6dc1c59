# fish completion of holdfast
function __holdfast_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -e words[1]
    set -l lines (holdfast complete $words "$current" 2>/dev/null)
    if test "$lines[1]" = ':files'
        __fish_complete_path "$current"
    else
        for line in $lines
            printf '%s\n' $line
        end
    end
end
complete -c holdfast -f -a '(__holdfast_complete)'
